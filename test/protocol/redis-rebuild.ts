import type { Action } from './actor.ts';
import { times } from './times.ts';
import { holds, type Limits, redisNow, violate, type World } from './world.ts';

function script<Args, R>(name: string, apply: (world: World, args: Args) => R): Action<Args, R> {
  return { service: 'redis', name, apply };
}

/** "Live limits are written to DynamoDB first and to Redis only if newer." */
export const writeLimits = script('writeLimits', (world, { limits }: { limits: Limits }) => {
  const { redis, ghost } = world;
  if (limits.version <= (redis.limits?.version ?? 0) && holds(world, 'limitsOnlyIfNewer'))
    return { kind: 'older' as const };
  redis.limits = limits;
  if (limits.version >= ghost.inForce.version) ghost.inForce = limits;
  return { kind: 'written' as const };
});

/** "The rebuilder takes a lock." */
export const takeRebuild = script('takeRebuild', (world, { nonce }: { nonce: string }) => {
  const { redis } = world;
  if (redis.epoch !== 0) return { kind: 'open' as const };
  if (redis.rebuilder !== undefined && redis.rebuilder.until > redisNow(world)) return { kind: 'other' as const };
  redis.rebuilder = { nonce, until: redisNow(world) + times.rebuildLock };
  return { kind: 'taken' as const };
});

/** "… in batches that each check that it still holds the lock and that there is no epoch." */
function mayRebuild(world: World, nonce: string): boolean {
  const { redis } = world;
  if (!holds(world, 'batchesCheckLock')) return true;
  const lock = redis.rebuilder;
  const free = lock === undefined || lock.until <= redisNow(world);
  if (free && !holds(world, 'lostLockIsNotRetaken'))
    redis.rebuilder = { nonce, until: redisNow(world) + times.rebuildLock };
  else if (free || lock.nonce !== nonce) return false;
  return redis.epoch === 0;
}

type Restore = { nonce: string; id: string; seatUntil: number; holder: string };

/** "Every open record's seat, and for running records exactly the recorded holder with one lease to live." */
export const restore = script('restore', (world, { nonce, id, seatUntil, holder }: Restore) => {
  if (!mayRebuild(world, nonce)) return { kind: 'refused' as const };
  const { seats, slots, holders } = world.redis;
  if (seatUntil > 0 && holds(world, 'rebuildRestoresSeats')) seats.set(id, Math.max(seatUntil, seats.get(id) ?? 0));
  if (holder !== '' && holds(world, 'rebuildRestoresSlots')) {
    slots.set(id, redisNow(world) + times.lease);
    holders.set(id, holder);
  }
  return { kind: 'restored' as const };
});

export const openEpoch = script('openEpoch', (world, { nonce, epoch }: { nonce: string; epoch: number }) => {
  if (!mayRebuild(world, nonce)) return { kind: 'refused' as const };
  if (epoch <= world.redis.epoch) violate(world, 'I7', `epoch ${epoch} written over ${world.redis.epoch}`);
  world.redis.epoch = epoch;
  world.redis.rebuilder = undefined;
  return { kind: 'open' as const };
});
