import { mostLostLeases, skewMs } from '../domain/protocol.ts';
import type { TaskRecord } from '../domain/task-record.ts';
import { addMs, second } from '../domain/time.ts';
import type { Cursor, TaskKey } from '../ports.ts';
import { messageGroup } from './create.ts';
import type { Deps } from './deps.ts';
import { rebuild } from './epoch.ts';
import { expire } from './expire.ts';
import { enforceStored } from './limits.ts';
import { logFailure } from './log-failure.ts';
import { dropOrphans } from './orphans.ts';
import { raiseSeat, releaseEnded, releaseSlots } from './release.ts';

/** What one run mended, by duty; `left` counts due tasks that wait for the next run: a service was away, the record cannot be
 * read, or the time was over. */
export type Reconciled = Record<'sent' | 'expired' | 'requeued' | 'failed' | 'alive' | 'left' | 'orphans', number>;

type Mending = Omit<Deps, 'files'>;

const runMs = 40 * second;
const atOnce = 10;

/**
 * Looks at every open task that is due, in pages to the end or until the run's time is over, and mends what a crash left: sends what was not sent,
 * queues again what lost its worker. Each step is conditional on the record, so two runs at once only waste work.
 */
export async function reconcile(deps: Mending): Promise<Reconciled> {
  await mendRedis(deps);
  const counts: Reconciled = { sent: 0, expired: 0, requeued: 0, failed: 0, alive: 0, left: 0, orphans: 0 };
  const until = deps.clock.now() + runMs;
  for (let shard = 0; shard < deps.records.shards; shard++) {
    let cursor: Cursor | undefined;
    do {
      const page = await deps.records.due(shard, deps.clock.now(), cursor);
      cursor = page.cursor;
      for (let at = 0; at < page.keys.length; at += atOnce) {
        if (deps.clock.now() >= until) {
          deps.log.error('more is due than one run can mend', { shard, left: page.keys.length - at });
          counts.left += page.keys.length - at;
          break;
        }
        const mended = await Promise.all(page.keys.slice(at, at + atOnce).map((key) => mend(deps, key)));
        for (const kind of mended) if (kind !== undefined) counts[kind]++;
      }
    } while (cursor !== undefined && deps.clock.now() < until);
  }
  counts.orphans = await mendSeats(deps);
  return counts;
}

/** An epoch where there is none, and the limits in force that are stored. While Redis is away, what is due is still sent. */
async function mendRedis(deps: Mending): Promise<void> {
  try {
    await rebuild(deps);
    await enforceStored(deps);
  } catch (error) {
    // Whatever it is, what is due must still be sent.
    logFailure(deps.log, 'Redis was not looked after', error);
  }
}

async function mendSeats(deps: Mending): Promise<number> {
  try {
    return await dropOrphans(deps);
  } catch (error) {
    logFailure(deps.log, 'seats were not looked after', error);
    return 0;
  }
}

async function mend(deps: Mending, key: TaskKey): Promise<keyof Reconciled | undefined> {
  try {
    const record = await deps.records.read(key);
    const now = deps.clock.now();
    if (record === undefined || record.dueAt > now) return undefined;
    if (record.status === 'running') return await mendRunning(deps, record);
    if (record.status !== 'queued') return undefined;
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
async function mendRunning(deps: Mending, record: TaskRecord): Promise<keyof Reconciled | undefined> {
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
  if (record.lostLeases + 1 > mostLostLeases) {
    const error = { code: 'worker_lost', message: `the worker was lost ${record.lostLeases + 1} times` };
    const finished = await deps.records.finish(key, { kind: 'failed', error }, now);
    if (finished.kind === 'refused') return undefined;
    await releaseEnded(deps, finished.record, { nonce: holder, served: false });
    return 'failed';
  }
  const deadline = addMs(now, deps.weir.times.startWindowMs);
  // Without Redis nothing but sends is done: this throws, and the task is left for the next run.
  await raiseSeat(deps, record, deadline);
  const requeued = await deps.records.requeue(key, 'lost', { runAt: now, deadline });
  if (requeued.kind === 'refused') return undefined;
  await releaseSlots(deps, record, holder);
  await send(deps, requeued.record);
  return 'requeued';
}
