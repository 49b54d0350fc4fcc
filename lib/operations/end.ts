import { createHash } from 'node:crypto';
import { isTerminal, mayStillRun, type TaskRecord } from '../domain/task-record.ts';
import { addMs, type EpochMs } from '../domain/time.ts';
import type { Deps } from './deps.ts';
import { releaseEnded } from './release.ts';

export type EndDeps = Pick<Deps, 'weir' | 'gate' | 'records' | 'messages' | 'clock' | 'log' | 'metrics'>;

/**
 * After the last write of a task, by whoever wrote it: what it held goes back (`released`: Redis said so), it is counted, and its
 * callback is told. Nothing here can fail.
 */
export async function afterEnd(
  deps: EndDeps,
  record: TaskRecord,
  held?: { readonly nonce: string; readonly served: boolean },
): Promise<{ readonly released: boolean }> {
  const { status, pool, api } = record;
  deps.metrics.count('tasks_ended_total', 1, { status, pool, api });
  const [released] = await Promise.all([releaseEnded(deps, record, held), announce(deps, record)]);
  return { released };
}

/** A receiver that is slow does not hold up the others: SQS serves message groups of a standard queue fairly. */
function receiverGroup({ callbackUrl = '' }: TaskRecord): string {
  const { host } = URL.parse(callbackUrl) ?? { host: '' };
  return createHash('sha256').update(host).digest('hex').slice(0, 32);
}

/** Has a pending delivery made. What is not sent now reconcile sends: the record is due until its delivery is over. */
export async function announce(
  deps: Pick<Deps, 'weir' | 'records' | 'messages' | 'clock' | 'log'>,
  record: TaskRecord,
): Promise<boolean> {
  if (!isTerminal(record.status) || record.delivery?.status !== 'pending') return false;
  try {
    await deps.messages.announce(record, receiverGroup(record));
    // A cancelled task whose handler may go on is due when its lease is over, whatever becomes of the delivery.
    if (mayStillRun(record)) return true;
    const after = Math.max(deps.clock.now(), record.delivery.nextAt ?? 0) as EpochMs;
    await deps.records.lookAgain(record, record.status, addMs(after, deps.weir.times.resendAgeMs));
    return true;
  } catch (error) {
    deps.log.warn('the end was not announced', { taskId: record.id, reason: String(error) });
    return false;
  }
}
