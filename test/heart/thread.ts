// The heartbeat thread of worker.ts.
import { heartThread } from '../../lib/heart/heart-thread.ts';
import { readStart } from './start.ts';
import { openWorkerDeps } from './worker-deps.ts';

heartThread(openWorkerDeps(readStart(), async () => null).deps);
