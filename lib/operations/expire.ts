import type { TaskRecord } from '../domain/task-record.ts';
import type { Deps } from './deps.ts';
import { releaseEnded } from './release.ts';
import type { Worked } from './work.ts';

/** A queued task that may no longer start ends as expired; its seat goes. */
export async function expire(
  deps: Pick<Deps, 'records' | 'gate' | 'clock' | 'log'>,
  record: TaskRecord,
): Promise<Worked> {
  const written = await deps.records.expire(record, deps.clock.now());
  if (written.kind === 'written') await releaseEnded(deps, written.record);
  return { kind: 'ack', because: 'expired' };
}
