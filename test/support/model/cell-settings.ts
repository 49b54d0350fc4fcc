import type { LimitsReply, RestoreReply } from '../../../lib/domain/gate-replies.ts';
import { addMs } from '../../../lib/domain/time.ts';
import type { LimitsInput, RestoreInput } from '../../../lib/ports.ts';
import { memberOf, overriddenName, slotsOf, stateOf, type World } from './world.ts';

/** The newest version wins; what it does not name is as configured. */
export function setLimits(world: World, { version, overrides, paused, rates = {} }: LimitsInput): LimitsReply {
  const inForce = world.version ?? 0;
  if (version < inForce) return { kind: 'older', version: inForce };
  world.version = version;
  world.overrides = new Map(overrides.map(({ tier, limits }) => [overriddenName(tier), limits]));
  world.paused = paused;
  world.liveRates = rates;
  return { kind: 'applied' };
}

/** Puts back what the records say, while there is no epoch and by one rebuilder at a time; the epoch ends it. */
export function restore(world: World, { nonce, lockMs, take, epoch, lease }: RestoreInput): RestoreReply {
  if (world.epoch !== undefined) return { kind: 'begun_already' };
  const mine = world.rebuilder === undefined ? take === true : world.rebuilder.nonce === nonce;
  if (!mine) return { kind: 'not_mine' };
  if (epoch !== undefined) {
    world.epoch = epoch;
    world.rebuilder = undefined;
    return { kind: 'begun' };
  }
  world.rebuilder = { nonce, lastsMs: lockMs };
  if (lease === undefined) return { kind: 'restored' };
  const { holder, attempt, leaseMs } = lease;
  for (const tier of lease.tiers) {
    const { seats, slots } = stateOf(world, tier);
    if (lease.seatUntil !== undefined) seats.raise(memberOf(lease), lease.seatUntil);
    if (holder !== undefined) for (const slot of slotsOf(lease)) slots.raise(slot, addMs(world.now, leaseMs));
  }
  if (holder !== undefined) world.holders.set(memberOf(lease), { nonce: holder, since: world.now, attempt, leaseMs });
  return { kind: 'restored' };
}
