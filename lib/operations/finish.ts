import type { Task } from '../config.ts';
import { endOf, type Outcome } from '../domain/task-record.ts';
import { addMs, day, type EpochMs, minute } from '../domain/time.ts';
import type { Deps } from './deps.ts';
import { afterEnd, type EndDeps } from './end.ts';
import type { Ran } from './ran.ts';
import { keepSeat, outlives, releaseSlots } from './release.ts';
import type { Held, Worked } from './work.ts';

type Failed = Extract<Ran, { kind: 'failed' }>;

/** A retry that is further away is parked in its record, and reconcile sends it: SQS delays no new message for longer. */
const longestHiddenMs = 15 * minute;
/** However long a handler says its backend needs. */
const longestRetryMs = day;

/** One conditional write, then the slots: the outcome never waits for Redis. A failed try goes back to the queue while its budget lasts. */
export async function finish(deps: EndDeps, held: Held, task: Task | undefined, ran: Ran): Promise<Worked> {
  const { record, key } = held;
  if (task !== undefined && ran.kind === 'failed' && ran.retryable && record.failures + 1 < task.retry.attempts) {
    const again = retryTimes(deps, record.failures, task, ran);
    if (outlives(record, again.deadline)) return retry(deps, held, ran, again);
  }
  const finishedAt = deps.clock.now();
  const written = await deps.records.finish(key, outcomeOf(ran, task, finishedAt), endOf(record, finishedAt));
  if (written.kind === 'written') await afterEnd(deps, written.record, { nonce: key.holder, served: true });
  else await refused(deps, held, 'finish', written.record);
  return { kind: 'ack', because: written.kind === 'written' ? ran.kind : 'finish refused' };
}

function outcomeOf(ran: Ran, task: Task | undefined, finishedAt: EpochMs): Outcome {
  if (ran.kind === 'failed') return { kind: 'failed', error: ran.error, dead: ran.retryable };
  const keepMs = task?.result.keepMs;
  return { ...ran, ...(keepMs === undefined ? {} : { resultUntil: addMs(finishedAt, keepMs) }) };
}

/** Full jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), but never before the handler said. */
function retryTimes({ clock, weir }: EndDeps, failures: number, { retry }: Task, { retryAfterMs = 0 }: Failed) {
  const backoffMs = Math.random() * Math.min(retry.longestMs, retry.firstMs * 2 ** failures);
  const afterMs = Math.ceil(Math.max(backoffMs, Math.min(longestRetryMs, retryAfterMs)));
  const runAt = addMs(clock.now(), afterMs);
  return { afterMs, runAt, deadline: addMs(runAt, weir.times.startWindowMs) };
}

/** Back to the queue: the seat is kept, the slots are given back, the same message comes again at `runAt`. */
async function retry(
  deps: EndDeps,
  held: Held,
  { error }: Failed,
  { afterMs, runAt, deadline }: ReturnType<typeof retryTimes>,
): Promise<Worked> {
  const { record, key } = held;
  await keepSeat(deps, record, deadline);
  const written = await deps.records.requeue(key, 'failed', { runAt, deadline });
  if (written.kind === 'refused') {
    await refused(deps, held, 'retry', written.record);
    return { kind: 'ack', because: 'retry refused' };
  }
  await releaseSlots(deps, record, key.holder);
  deps.metrics.count('retries_total', 1, { api: record.api });
  deps.log.info('retry', { taskId: record.id, attempt: key.attempt, code: error.code, afterMs });
  if (afterMs > longestHiddenMs) return { kind: 'ack', because: 'retry, parked' };
  return { kind: 'defer', because: 'retry', afterMs };
}

/** Another write came first: a cancel, or an end after this attempt's lease was lost. It stands; this attempt gives back what it still holds. */
async function refused(
  deps: EndDeps,
  { record, key }: Held,
  write: 'finish' | 'retry',
  standing: Held['record'] | undefined,
): Promise<void> {
  const status = standing?.status ?? 'absent';
  deps.metrics.count('late_writes_total', 1, { write });
  deps.log.warn('a late write was refused', { taskId: record.id, attempt: key.attempt, write, status });
  await releaseSlots(deps, record, key.holder);
}

/** The lease is lost: the record is somebody else's to write. */
export async function giveUp(deps: Pick<Deps, 'gate' | 'log'>, { record, key }: Held): Promise<Worked> {
  await releaseSlots(deps, record, key.holder);
  return { kind: 'ack', because: 'lease lost' };
}
