import type { Action } from './actor.ts';
import { leaseRevived, seatGranted, slotGranted } from './invariants.ts';
import { seatMargin, times } from './times.ts';
import { holds, type Limits, type Lock, redisNow, type World } from './world.ts';

/** One action per Redis script; each runs alone. `lua/` holds the real ones. */
function script<Args, R>(
  name: string,
  apply: (world: World, args: Args) => R,
  more: { reads?: boolean } = {},
): Action<Args, R> {
  return { service: 'redis', name, apply, ...more };
}

function limitsOf(world: World): Limits {
  return world.redis.limits ?? world.setup.limits;
}

function liveLock(world: World, key: string): Lock | undefined {
  const lock = world.redis.locks.get(key);
  return lock !== undefined && lock.until > redisNow(world) ? lock : undefined;
}

/** The set of leases is the count; what lapsed is swept when the tier looks full. */
function countSweeping(leases: Map<string, number>, now: number, limit: number): number {
  if (leases.size >= limit) for (const [member, until] of leases) if (until <= now) leases.delete(member);
  return leases.size;
}

/** "Only grows." */
function raise(leases: Map<string, number>, member: string, until: number): void {
  leases.set(member, Math.max(until, leases.get(member) ?? 0));
}

type Admit = { key: string; id: string; replaces: string };

/** "admit: lock absent, or it names this very id → lock with TTL = the create deadline, seats with score = start deadline." */
export const admit = script('admit', (world, { key, id, replaces }: Admit) => {
  const now = redisNow(world);
  const { redis } = world;
  const lock = liveLock(world, key);
  const own = lock?.id === id && holds(world, 'admitAgainIsOwn');
  if (lock !== undefined && !own && lock.id !== replaces) {
    return { kind: 'duplicate' as const, task: lock.id, creating: lock.state === 'creating' };
  }
  if (redis.epoch === 0 && holds(world, 'admitNeedsEpoch')) return { kind: 'rebuilding' as const };
  const held = redis.seats.get(id);
  if (own && held !== undefined) return { kind: 'admitted' as const, now, deadline: held, epoch: redis.epoch };
  const { inSystem } = limitsOf(world);
  const count = countSweeping(redis.seats, now, inSystem);
  const frees = lock?.id === replaces && (redis.seats.get(replaces) ?? 0) > now ? 1 : 0;
  if (count - frees >= inSystem) return { kind: 'rejected' as const };
  if (lock?.id === replaces) redis.seats.delete(replaces);
  const deadline = now + times.startWindow;
  redis.locks.set(key, { id, state: 'creating', until: now + times.createDeadline });
  raise(redis.seats, id, deadline);
  seatGranted(world, id);
  return { kind: 'admitted' as const, now, deadline, epoch: redis.epoch };
});

/** "confirm: lock → pointer (also when the lock has lapsed), never over another id." */
export const confirm = script('confirm', (world, { key, id }: { key: string; id: string }) => {
  const lock = liveLock(world, key);
  if (lock !== undefined && lock.id !== id && holds(world, 'confirmNeverOverAnother'))
    return { kind: 'other' as const };
  world.redis.locks.set(key, { id, state: 'created', until: redisNow(world) + times.pointer });
  return { kind: 'confirmed' as const };
});

type Acquire = { id: string; nonce: string; deadline: number; epoch: number };

export const acquire = script('acquire', (world, { id, nonce, deadline, epoch }: Acquire) => {
  const now = redisNow(world);
  const { redis } = world;
  const { running, inSystem, paused } = limitsOf(world);
  const lapses = redis.slots.get(id) ?? 0;
  const holder = redis.holders.get(id);
  const got = (until: number) => ({ kind: 'acquired' as const, now, lapses: until, epoch: redis.epoch });
  if (holder === nonce && lapses > now) return got(lapses);
  // A nonce is good for one lease: a re-sent acquire that arrives late does not revive one that was lost.
  if (holder === nonce && holds(world, 'nonceIsForOneLease')) return { kind: 'held' as const };
  // "late (server TIME is past the deadline)": its seat lapses at the deadline, so that very moment is past.
  const late = holds(world, 'lateAtTheDeadline') ? now >= deadline : now > deadline;
  if (late && holds(world, 'acquireChecksDeadline')) return { kind: 'late' as const };
  if (lapses > now) return { kind: 'held' as const };
  if (holder === nonce) leaseRevived(world, id, nonce);
  if (redis.epoch === 0 && holds(world, 'acquireNeedsEpoch')) return { kind: 'rebuilding' as const };
  if (paused) return { kind: 'paused' as const };
  if (countSweeping(redis.slots, now, running) >= running) return { kind: 'busy' as const };
  // "a missing seat is put back … But a record of an older epoch without a seat takes one only if it fits, else defers."
  const missing = !redis.seats.has(id);
  if (missing && epoch !== redis.epoch && holds(world, 'olderEpochMustFit')) {
    if (countSweeping(redis.seats, now, inSystem) >= inSystem) return { kind: 'unseated' as const };
  }
  if (!missing || holds(world, 'acquirePutsSeatBack')) {
    // The longest end of this attempt; where it never starts, the record may still be started until its deadline.
    raise(
      redis.seats,
      id,
      Math.max(now + times.handlerTimeout + seatMargin, holds(world, 'seatBackUntilDeadline') ? deadline : 0),
    );
    if (missing) seatGranted(world, id, epoch);
  }
  world.ghost.unseated.delete(id);
  redis.slots.set(id, now + times.lease);
  redis.holders.set(id, nonce);
  slotGranted(world);
  return got(now + times.lease);
});

/** "extend (XX, own nonce): extended | lost | seatless. While the epoch is absent it writes nothing and the worker goes on." */
export const extend = script('extend', (world, { id, nonce }: { id: string; nonce: string }) => {
  const now = redisNow(world);
  const { redis, ghost } = world;
  const handler = ghost.handlers.get(nonce);
  const goodUntil = now + times.lease;
  if (redis.epoch === 0) {
    const good = handler !== undefined && (handler.until > now || !holds(world, 'lateBeatStops'));
    if (good) ghost.handlers.set(nonce, { ...handler, until: goodUntil });
    return { kind: 'rebuilding' as const };
  }
  if (holds(world, 'extendOwnNonce') && redis.holders.get(id) !== nonce) return { kind: 'lost' as const };
  if (holds(world, 'extendNeverRevives') && (redis.slots.get(id) ?? 0) <= now) return { kind: 'lost' as const };
  const granted = redis.holders.get(id) !== nonce || (redis.slots.get(id) ?? 0) <= now;
  raise(redis.slots, id, goodUntil);
  if (handler !== undefined) ghost.handlers.set(nonce, { ...handler, until: goodUntil });
  if (granted) slotGranted(world);
  return { kind: redis.seats.has(id) ? ('extended' as const) : ('seatless' as const), until: goodUntil };
});

/** "keep: a seat's score only grows; `lost` → the write goes on, the seat is put back by the next acquire." */
export const keep = script('keep', (world, { id, until }: { id: string; until: number }) => {
  const { seats } = world.redis;
  if (!seats.has(id)) return { kind: 'lost' as const, now: redisNow(world) };
  if (holds(world, 'keepOnlyGrows')) raise(seats, id, until);
  else seats.set(id, until);
  return { kind: 'kept' as const, now: redisNow(world) };
});

/** `ended`: the seat goes too, and the lock or pointer if it still names this task, unless the result may be reused. */
type Release = { id: string; key: string; nonce: string; ended: boolean; reusable: boolean };

export const release = script('release', (world, { id, key, nonce, ended, reusable }: Release) => {
  const { redis } = world;
  const own = redis.holders.get(id) === nonce;
  if (nonce !== '' && (own || !holds(world, 'releaseOwnNonce'))) {
    redis.holders.delete(id);
    redis.slots.delete(id);
  }
  if (ended) {
    redis.seats.delete(id);
    if (nonce === '' && holds(world, 'lapsedHolderGoes') && (redis.slots.get(id) ?? 0) <= redisNow(world)) {
      redis.holders.delete(id);
    }
    if (nonce === '' && !holds(world, 'slotStaysOnCancel')) redis.slots.delete(id);
    const named = redis.locks.get(key)?.id === id || !holds(world, 'releaseOwnPointer');
    if (named && !reusable) redis.locks.delete(key);
  }
  return { kind: 'released' as const };
});

/** Does the holder of a running record have a live slot? */
export const alive = script(
  'alive',
  (world, { id, nonce }: { id: string; nonce: string }) => {
    const { redis } = world;
    const until = redis.slots.get(id) ?? 0;
    if (redis.epoch === 0 && holds(world, 'onlySendWithoutEpoch')) return { kind: 'rebuilding' as const };
    const lives = redis.holders.get(id) === nonce && until > redisNow(world);
    return lives ? { kind: 'alive' as const, until } : { kind: 'gone' as const };
  },
  { reads: true },
);

export const leases = script(
  'leases',
  ({ redis, made }, _: object) => {
    const ids = new Set([...redis.seats.keys(), ...redis.holders.keys()]);
    return { kind: 'leases' as const, ids: [...ids].map((id) => ({ id, madeAt: made.get(id) ?? 0 })) };
  },
  { reads: true },
);

export const readEpoch = script('epoch', ({ redis }, _: object) => ({ kind: 'epoch' as const, epoch: redis.epoch }), {
  reads: true,
});
