import { isTerminal, type TaskRecord } from '../domain/task-record.ts';
import { addMs } from '../domain/time.ts';
import type { Deps } from './deps.ts';
import { releaseEnded } from './release.ts';

export type EndDeps = Pick<Deps, 'weir' | 'gate' | 'records' | 'messages' | 'clock' | 'log' | 'metrics'>;

/** After the last write of a task, by whoever wrote it: what it held goes back, it is counted, and its callback is told. Nothing here can fail. */
export async function afterEnd(
  deps: EndDeps,
  record: TaskRecord,
  held?: { readonly nonce: string; readonly served: boolean },
): Promise<void> {
  const { status, pool, api } = record;
  deps.metrics.count('tasks_ended_total', 1, { status, pool, api });
  await Promise.all([releaseEnded(deps, record, held), announce(deps, record)]);
}

/** Has a pending delivery made. What is not sent now reconcile sends: the record is due until its delivery is over. */
export async function announce(
  deps: Pick<Deps, 'weir' | 'records' | 'messages' | 'clock' | 'log'>,
  record: TaskRecord,
): Promise<boolean> {
  if (!isTerminal(record.status) || record.delivery?.status !== 'pending') return false;
  try {
    await deps.messages.announce(record);
    // A cancelled task is due when its lease is over, whatever becomes of the delivery.
    if (record.status !== 'cancelled') {
      const again = addMs(deps.clock.now(), deps.weir.times.resendAgeMs);
      await deps.records.lookAgain(record, record.status, again);
    }
    return true;
  } catch (error) {
    deps.log.warn('the end was not announced', { taskId: record.id, reason: String(error) });
    return false;
  }
}
