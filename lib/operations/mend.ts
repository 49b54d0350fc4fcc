import { mostLostLeases, skewMs } from '../domain/protocol.ts';
import { endOf, isTerminal, mayStillRun, type TaskRecord } from '../domain/task-record.ts';
import { addMs } from '../domain/time.ts';
import type { TaskKey } from '../ports.ts';
import { messageGroup } from './create.ts';
import type { Deps } from './deps.ts';
import { afterEnd, announce } from './end.ts';
import { expire } from './expire.ts';
import { logFailure } from './log-failure.ts';
import { outlives, raiseSeat, releaseEnded, releaseSlots } from './release.ts';

/**
 * What was done for a task that was due: its message `sent`, the task `expired`, `requeued` or `failed` because its worker was lost, found `alive`, its end
 * `announced` again, `closed` because nothing of it is left to do, or `left` for the next run.
 */
export type Mended = 'sent' | 'expired' | 'requeued' | 'failed' | 'alive' | 'announced' | 'closed' | 'left';

type Mending = Omit<Deps, 'files'>;

/** Looks at one task that is due. */
export async function mend(deps: Mending, key: TaskKey): Promise<Mended | undefined> {
  try {
    const record = await deps.records.read(key);
    const now = deps.clock.now();
    if (record === undefined || record.dueAt > now) return undefined;
    if (isTerminal(record.status)) return await settle(deps, record);
    if (record.status === 'running') return await mendRunning(deps, record);
    if (now > record.deadline + skewMs) {
      await expire(deps, record);
      return 'expired';
    }
    return (await send(deps, record)) ? 'sent' : undefined;
  } catch (error) {
    // One record that cannot be mended must not keep the others from it.
    logFailure(deps.log, 'left for the next run', error, { taskId: key.id });
    return 'left';
  }
}

/** Counts the send first, so that a message that is lost or doubled is told apart by its number. */
async function send(deps: Mending, record: TaskRecord): Promise<boolean> {
  const counted = await deps.records.countSend(record, record.sends);
  if (counted.kind === 'refused') return false;
  const { tenant, id, sends, pool } = counted.record;
  await deps.messages.send(pool, { tenant, id, send: sends }, messageGroup(record));
  await deps.records.markSent(record, sends, addMs(deps.clock.now(), deps.weir.times.resendAgeMs));
  return true;
}

/** A running task whose attempt has no live slot lost its worker: queued again, or failed once that happened too often. */
async function mendRunning(deps: Mending, record: TaskRecord): Promise<Mended | undefined> {
  const { holder } = record;
  if (holder === undefined) throw new Error(`expected a holder on running task ${record.id}`);
  const key = { tenant: record.tenant, id: record.id, attempt: record.attempt, holder };
  const lease = await deps.gate.alive({ ...record, nonce: holder });
  if (lease.kind === 'rebuilding') return 'left';
  if (lease.kind === 'alive') {
    await deps.records.postpone(key, lease.lapses);
    return 'alive';
  }
  const now = deps.clock.now();
  const deadline = addMs(now, deps.weir.times.startWindowMs);
  if (record.lostLeases + 1 > mostLostLeases || !outlives(record, deadline)) {
    const error = { code: 'worker_lost', message: `the worker was lost ${record.lostLeases + 1} times` };
    const finished = await deps.records.finish(key, { kind: 'failed', error, dead: true }, endOf(record, now));
    if (finished.kind === 'refused') return undefined;
    await afterEnd(deps, finished.record, { nonce: holder, served: false });
    return 'failed';
  }
  // Without Redis nothing but sends is done: this throws, and the task is left for the next run.
  await raiseSeat(deps, record, deadline);
  const requeued = await deps.records.requeue(key, 'lost', { runAt: now, deadline });
  if (requeued.kind === 'refused') return undefined;
  await releaseSlots(deps, record, holder);
  await send(deps, requeued.record);
  return 'requeued';
}

/**
 * A terminal task that is still among the open ones: a cancelled one whose handler may go on until its lease is over, or one whose end somebody is to be
 * told. Nothing left to do: it leaves them.
 */
async function settle(deps: Mending, record: TaskRecord): Promise<Mended | undefined> {
  if (mayStillRun(record)) {
    // The seat, where the cancel died before it gave it back: without it the next heartbeat reads the record.
    await releaseEnded(deps, record);
    const lease = await deps.gate.alive({ ...record, nonce: record.holder });
    if (lease.kind === 'rebuilding') return 'left';
    if (lease.kind === 'alive') {
      await deps.records.lookAgain(record, record.status, lease.lapses);
      return 'alive';
    }
    await releaseEnded(deps, record, { nonce: record.holder, served: false });
    await deps.records.forgetHolder(record, record.holder);
  } else await releaseEnded(deps, record);
  if (record.delivery?.status === 'pending')
    return (await announce(deps, { ...record, holder: undefined })) ? 'announced' : 'left';
  const closed = await deps.records.close(record, record.revision);
  return closed.kind === 'written' ? 'closed' : undefined;
}
