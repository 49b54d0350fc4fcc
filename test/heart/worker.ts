// The process of a worker: `node worker.ts`, started by worker-process.ts and told over its channel which message to work.
import { setTimeout as sleep } from 'node:timers/promises';
import { threadHeart } from '../../lib/heart/thread-heart.ts';
import { type Delivery, type Worked, work } from '../../lib/operations/work.ts';
import type { TaskDefinition } from '../../lib/task.ts';
import { readStart } from './start.ts';
import { openWorkerDeps } from './worker-deps.ts';

/** `running`: the handler has begun. `aborted`: its signal was raised. `worked`: the message has come to its end. */
export type Told = { kind: 'running' } | { kind: 'aborted' } | { kind: 'worked'; worked: Worked };

function tell(message: Told): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}

/** `blockMs`: nothing runs in this thread for so long. `ms`: waits, and obeys. */
const run: TaskDefinition['run'] = async ({ input, ctx }) => {
  const { blockMs = 0, ms = 0 } = input as { blockMs?: number; ms?: number };
  ctx.signal.addEventListener('abort', () => void tell({ kind: 'aborted' }));
  await tell({ kind: 'running' });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
  await sleep(ms, undefined, { signal: ctx.signal });
  return { attempt: ctx.attempt };
};

const start = readStart();
const { deps, close } = openWorkerDeps(start, run);
const heart = threadHeart(new URL(start.thread, import.meta.url), deps.log);

process.once('message', async (delivery: Delivery) => {
  const { p } = deps.weir.pools;
  if (p === undefined) throw new Error('expected pool p');
  const taskSettings = { setting: () => undefined, secret: async () => undefined };
  const worked = await work({ ...deps, heart, taskSettings }, p, delivery);
  await tell({ kind: 'worked', worked });
  // Nothing but the thread is left: it must not keep this process alive.
  close();
  process.disconnect();
});
