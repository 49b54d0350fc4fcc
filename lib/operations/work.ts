import type { Pool } from '../config.ts';
import { attemptMarginMs, seatMarginMs } from '../config.ts';
import { acquireWaitMs, skewMs, startDeadlineMs } from '../domain/protocol.ts';
import { isTerminal, type TaskRecord } from '../domain/task-record.ts';
import { addMs, minute, second } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { type AttemptKey, type TaskMessage, Unavailable, type Written } from '../ports.ts';
import { attempt } from './attempt.ts';
import type { Deps, WorkDeps } from './deps.ts';
import { beginEpoch } from './epoch.ts';
import { expire } from './expire.ts';
import { releaseEnded, releaseSlots } from './release.ts';

/** One message as SQS delivered it. `receiveCount` is 1 the first time. */
export type Delivery = { readonly message: TaskMessage; readonly receiptHandle: string; readonly receiveCount: number };

/** `ack`: the message has done its work. `defer`: it comes back after `afterMs`; no attempt was counted. */
export type Worked =
  | { readonly kind: 'ack'; readonly because: string }
  | { readonly kind: 'defer'; readonly because: string; readonly afterMs: number };

/** An attempt that holds its slots and may begin. */
export type Held = {
  readonly record: TaskRecord;
  readonly key: AttemptKey;
  readonly pool: Pool;
  readonly receiptHandle: string;
};

const longestDeferMs = 15 * minute;
const pollMs = 25;

/** Takes one message to its end: load, acquire slots, start, run, finish, release. docs/protocol.md "Working" has the reasons. */
export async function work(deps: WorkDeps, pool: Pool, delivery: Delivery): Promise<Worked> {
  const { message, receiptHandle } = delivery;
  await deps.messages.setVisibility(pool.name, receiptHandle, pool.leaseMs);
  const record = await deps.records.read(message);
  if (record?.status !== 'queued') {
    // A worker that died between its last write and its release left the seat; slots lapse by themselves.
    if (record !== undefined && isTerminal(record.status)) await releaseEnded(deps, record);
    return { kind: 'ack', because: record?.status ?? 'absent' };
  }
  const now = deps.clock.now();
  if (now > record.deadline + skewMs) return expire(deps, record);
  const earlyMs = (record.runAt ?? now) - now;
  if (earlyMs > skewMs) return { kind: 'ack', because: 'not due yet' };
  if (earlyMs > 0) return { kind: 'defer', because: 'not due yet', afterMs: earlyMs };

  const nonce = deps.newNonce();
  const reply = await acquire(deps, pool, record, nonce);
  switch (reply.kind) {
    case 'acquired':
      return begin(deps, pool, delivery, record, nonce, reply);
    case 'late':
      return expire(deps, record);
    case 'rebuilding':
      await beginEpoch(deps);
      return defer(deps, delivery, record, reply.kind);
    case 'held':
    case 'busy':
    case 'unseated':
    case 'paused':
    case 'unavailable':
      return defer(deps, delivery, record, reply.kind);
    default:
      return unreachable(reply);
  }
}

/** Asks for slots, again for up to half a second while they are busy, so that one that frees is taken at once. */
async function acquire(deps: Deps, pool: Pool, record: TaskRecord, nonce: string) {
  const task = deps.weir.tasks[record.api];
  const seatMs = (task?.timeoutMs ?? 0) + attemptMarginMs + pool.leaseMs + seatMarginMs;
  const input = {
    ...record,
    nonce,
    attempt: record.attempt + 1,
    leaseMs: pool.leaseMs,
    seatMs,
    expectedBy: record.attempt === 0 ? record.expectedBy : undefined,
  };
  const until = deps.clock.now() + acquireWaitMs;
  for (;;) {
    const askedAt = deps.clock.now();
    const reply = await deps.gate.acquire(input).catch((error: unknown) => {
      if (error instanceof Unavailable) return { kind: 'unavailable' as const };
      throw error;
    });
    if (reply.kind === 'acquired') return { ...reply, askedAt };
    if (reply.kind !== 'busy' || askedAt + pollMs >= until) return reply;
    await deps.clock.sleep(pollMs * (0.5 + Math.random()));
  }
}

/**
 * Each wait is a tenth longer than the one before: a slot that frees is found within about a tenth of the time already waited, and the receives a
 * message has last for hours. The last one leaves the task to reconcile.
 */
async function defer(
  deps: Deps,
  { message, receiveCount }: Delivery,
  record: TaskRecord,
  because: string,
): Promise<Worked> {
  deps.metrics.count('deferrals_total', 1, { pool: record.pool, because });
  if (message.send < record.sends) return { kind: 'ack', because: `${because}, and a newer message was sent` };
  if (receiveCount >= deps.weir.times.maxReceiveCount) {
    await deps.records.setDue(record, deps.clock.now());
    return { kind: 'ack', because: `${because}, parked` };
  }
  const waitMs = Math.min(longestDeferMs, second * 1.1 ** (receiveCount - 1));
  return { kind: 'defer', because, afterMs: waitMs * (0.75 + 0.5 * Math.random()) };
}

async function begin(
  deps: WorkDeps,
  pool: Pool,
  { receiptHandle, receiveCount }: Delivery,
  record: TaskRecord,
  nonce: string,
  slots: { now: TaskRecord['createdAt']; lapses: TaskRecord['createdAt']; epoch: number; askedAt: number },
): Promise<Worked> {
  const key = { tenant: record.tenant, id: record.id, attempt: record.attempt + 1, holder: nonce };
  const timeoutMs = deps.weir.tasks[record.api]?.timeoutMs ?? 0;
  if (deps.clock.now() - slots.askedAt > startDeadlineMs) {
    await releaseSlots(deps, record, nonce);
    return { kind: 'defer', because: 'too slow between acquire and start', afterMs: second };
  }
  const started = await start(deps, key, {
    startedAt: slots.now,
    deadline: addMs(slots.now, timeoutMs + attemptMarginMs),
    dueAt: slots.lapses,
    epoch: slots.epoch,
  });
  if (started.kind === 'refused') {
    const { record: standing } = started;
    if (standing !== undefined && isTerminal(standing.status))
      await releaseEnded(deps, standing, { nonce, served: false });
    else await releaseSlots(deps, record, nonce);
    if (standing?.status === 'queued') return { kind: 'defer', because: 'start not written', afterMs: second };
    return { kind: 'ack', because: `start refused: ${started.record?.status ?? 'absent'}` };
  }
  const extended = await deps.gate.extend({ ...record, nonce, leaseMs: pool.leaseMs });
  if (extended.kind !== 'extended') {
    // Without live slots and a seat no handler runs; reconcile finds the attempt without a lease and queues it again.
    await releaseSlots(deps, record, nonce);
    return { kind: 'ack', because: `lease ${extended.kind} after start` };
  }
  const worked = await attempt(deps, { record: started.record, key, pool, receiptHandle });
  // A retry is due in its record too: reconcile sends it where this message may not be received again.
  return worked.kind === 'defer' && receiveCount >= deps.weir.times.maxReceiveCount
    ? { ...worked, kind: 'ack' }
    : worked;
}

/** A start whose outcome is unknown is read back by its holder. */
async function start(
  { records }: Deps,
  key: AttemptKey,
  at: Parameters<Deps['records']['start']>[1],
): Promise<Written> {
  try {
    return await records.start(key, at);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const record = await records.read(key);
    const own = record?.status === 'running' && record.holder === key.holder;
    return own ? { kind: 'written', record } : { kind: 'refused', record };
  }
}
