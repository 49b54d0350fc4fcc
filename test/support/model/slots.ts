import type {
  AcquireReply,
  AliveReply,
  ExtendReply,
  KeepReply,
  ReleaseReply,
} from '../../../lib/domain/gate-replies.ts';
import { addMs, type EpochMs, toEpochMs } from '../../../lib/domain/time.ts';
import type { AcquireInput, Claim, ReleaseInput } from '../../../lib/ports.ts';
import { learn, learntOf } from './learnt.ts';
import { firstTier, limitsOf, memberOf, slotsOf, stateOf, type World } from './world.ts';

/** The end of the lease that this task's attempt holds, where it is live. */
function liveUntil(world: World, claim: Claim): EpochMs | undefined {
  const end = stateOf(world, firstTier(claim)).slots.ends.get(`${memberOf(claim)}#1`) as EpochMs | undefined;
  return end !== undefined && end > world.now && world.holders.has(memberOf(claim)) ? end : undefined;
}

/** Slots in every tier or in none; the seat is a fact of an open task and is put back, unless it was lost with an older epoch's data. */
export function acquire(world: World, input: Claim & AcquireInput): AcquireReply {
  const { nonce, attempt, leaseMs, permits, tiers } = input;
  const { now, epoch, holders } = world;
  const member = memberOf(input);
  const held = liveUntil(world, input);
  if (held !== undefined && holders.get(member)?.nonce === nonce) {
    return { kind: 'acquired', now, lapses: held, epoch: epoch ?? input.epoch };
  }
  if (now >= input.deadline) return { kind: 'late' };
  if (held !== undefined) return { kind: 'held', lapses: held };
  // A nonce is for one lease, and this one's is over.
  if (holders.get(member)?.nonce === nonce) return { kind: 'held', lapses: now };
  if (epoch === undefined) return { kind: 'rebuilding' };
  if (world.paused[firstTier(input).name] !== undefined) return { kind: 'paused' };

  for (const [index, tier] of tiers.entries()) {
    const { running, inSystem } = limitsOf(world, tier);
    const { slots, seats } = stateOf(world, tier);
    if (running !== undefined) {
      const inUse = slots.count(now, running - permits + 1);
      if (inUse + permits > running) {
        const [first] = slots.live(now);
        const hintMs = first === undefined ? 0 : (slots.ends.get(first) ?? now) - now;
        return { kind: 'busy', tier: index, inUse, limit: running, hintMs };
      }
    }
    if (input.epoch !== epoch && inSystem !== undefined && !seats.ends.has(member)) {
      const inUse = seats.count(now, inSystem);
      if (inUse >= inSystem) return { kind: 'unseated', tier: index, inUse, limit: inSystem };
    }
  }

  const lapses = addMs(now, leaseMs);
  for (const tier of tiers) {
    const { slots, seats } = stateOf(world, tier);
    // A start that is never written leaves the task queued until its deadline.
    seats.raise(member, toEpochMs(Math.max(now + input.seatMs, input.deadline)));
    for (const slot of slotsOf(input)) slots.raise(slot, lapses);
  }
  holders.set(member, { nonce, since: now, attempt, leaseMs });
  if (input.expectedBy !== undefined) {
    const pool = learntOf(world, firstTier(input));
    pool.told++;
    if (now <= input.expectedBy) pool.kept++;
  }
  return { kind: 'acquired', now, lapses, epoch };
}

/** Only what this attempt still holds alive in every tier lasts longer. */
export function extend(world: World, input: Claim & { nonce: string; leaseMs: number }): ExtendReply {
  if (world.epoch === undefined) return { kind: 'rebuilding' };
  const { now, holders } = world;
  const member = memberOf(input);
  const states = input.tiers.map((tier) => stateOf(world, tier));
  const slots = slotsOf(input);
  const live = states.every((tier) => slots.every((slot) => tier.slots.isLive(slot, now)));
  if (!live || holders.get(member)?.nonce !== input.nonce) return { kind: 'lost' };
  const lapses = addMs(now, input.leaseMs);
  for (const tier of states) for (const slot of slots) tier.slots.raise(slot, lapses);
  return { kind: states.every(({ seats }) => seats.ends.has(member)) ? 'extended' : 'seatless', lapses };
}

export function keep(world: World, input: Claim & { until: EpochMs }): KeepReply {
  const member = memberOf(input);
  const seats = input.tiers.map((tier) => stateOf(world, tier).seats);
  const seated = seats.filter(({ ends }) => ends.has(member));
  for (const each of seated) each.raise(member, input.until);
  return { kind: seated.length === seats.length ? 'kept' : 'lost' };
}

/** This attempt's slots; at the end the seats too, and the pointer unless the outcome goes on to answer duplicates. */
export function release(world: World, input: Claim & ReleaseInput): ReleaseReply {
  const { now, holders, locks } = world;
  const member = memberOf(input);
  const holder = holders.get(member);
  const holds = holder !== undefined && holder.nonce === input.nonce;
  const lapsed = !stateOf(world, firstTier(input)).slots.isLive(`${member}#1`, now);
  if (holds || (input.ended !== undefined && lapsed)) holders.delete(member);
  if (holds) {
    for (const tier of input.tiers) for (const slot of slotsOf(input)) stateOf(world, tier).slots.remove(slot);
    if (input.served) for (const tier of input.tiers.slice(0, 2)) learn(world, tier, Math.max(0, now - holder.since));
  }
  if (input.ended !== undefined) {
    for (const tier of input.tiers) stateOf(world, tier).seats.remove(member);
    const lock = locks.get(input.dedupKey);
    if (lock?.id === input.id) {
      if (input.ended.pointerMs === 0) locks.delete(input.dedupKey);
      else locks.set(input.dedupKey, { ...lock, lastsMs: input.ended.pointerMs });
    }
  }
  return { kind: holds ? 'released' : 'gone' };
}

export function alive(world: World, input: Claim & { nonce: string }): AliveReply {
  if (world.epoch === undefined) return { kind: 'rebuilding' };
  const lapses = liveUntil(world, input);
  if (lapses === undefined || world.holders.get(memberOf(input))?.nonce !== input.nonce) return { kind: 'gone' };
  return { kind: 'alive', lapses };
}
