import { endOf, type TaskRecord } from '../domain/task-record.ts';
import { afterEnd, type EndDeps } from './end.ts';
import type { Worked } from './work.ts';

/** A queued task that may no longer start ends as expired; its seat goes. */
export async function expire(deps: EndDeps, record: TaskRecord): Promise<Worked> {
  const written = await deps.records.expire(record, endOf(record, deps.clock.now()));
  if (written.kind === 'written') await afterEnd(deps, written.record);
  return { kind: 'ack', because: 'expired' };
}
