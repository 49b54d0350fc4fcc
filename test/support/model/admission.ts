import type { AdmitReply, ConfirmReply, PeekReply } from '../../../lib/domain/gate-replies.ts';
import { configuredLimits } from '../../../lib/domain/tiers.ts';
import { addMs, type EpochMs, hour } from '../../../lib/domain/time.ts';
import type { AdmitInput, ConfirmInput, PeekInput, RefuseInput } from '../../../lib/ports.ts';
import { budgetsOf, charge, judge, useOf } from './rates.ts';
import {
  firstTier,
  type Lock,
  limitsOf,
  liveUses,
  memberOf,
  nameOf,
  runningTasks,
  stateOf,
  tierUse,
  type World,
} from './world.ts';

function duplicate({ creating, id, fingerprint }: Lock) {
  return { kind: 'duplicate' as const, creating, taskId: id, fingerprint };
}

/** A refusal that is already certain, and nothing else: charges nothing. */
export function peek(world: World, { dedupKey, tiers }: PeekInput): PeekReply {
  const lock = dedupKey === undefined ? undefined : world.locks.get(dedupKey);
  if (lock !== undefined) return { ...duplicate(lock), now: world.now };
  if (world.epoch === undefined) return { kind: 'rebuilding' };
  if (tiers[0] !== undefined && world.paused[tiers[0].name]?.admission === 'refuse') return { kind: 'paused' };
  const short = tiers.findIndex((tier) => {
    const { inSystem } = limitsOf(world, tier);
    return inSystem !== undefined && stateOf(world, tier).seats.live(world.now).length >= inSystem;
  });
  return short < 0 ? { kind: 'open', now: world.now } : { kind: 'full', ...full(world, tiers, short) };
}

/** The lock, then what could never be, then every rule, then every tier; all or nothing. */
export function admit(world: World, input: AdmitInput): AdmitReply {
  const { id, tiers, permits, replaces, dedupKey, fingerprint, mostAhead } = input;
  const { now, settings, locks, epoch, version: limitsVersion = 0 } = world;
  const member = memberOf(input);
  const lock = locks.get(dedupKey);
  if (lock !== undefined && lock.id !== id && lock.id !== replaces) return duplicate(lock);
  if (epoch === undefined) return { kind: 'rebuilding' };

  const budgets = budgetsOf(world, input.rates ?? []);
  const rates = budgets.map((budget) => useOf(budget, now));
  const seatedUntil = stateOf(world, firstTier(input)).seats.ends.get(member) as EpochMs | undefined;
  if (lock?.id === id && seatedUntil !== undefined) {
    return { kind: 'admitted', now, deadline: seatedUntil, epoch, limitsVersion, tiers: liveUses(world, tiers), rates };
  }
  if (world.paused[firstTier(input).name]?.admission === 'refuse') return { kind: 'paused' };
  for (const [tier, each] of tiers.entries()) {
    const { running: limit = 0 } = configuredLimits(settings.limits, each);
    if (limit > 0 && permits > limit) return { kind: 'never', tier, limit };
  }

  const refused = judge(world, budgets);
  if (refused !== undefined) return refused;
  const replaced = lock !== undefined && lock.id === replaces ? memberOf({ ...input, id: lock.id }) : '';
  for (const [short, tier] of tiers.entries()) {
    const { inSystem = Number.POSITIVE_INFINITY } = limitsOf(world, tier);
    const { seats } = stateOf(world, tier);
    const count = seats.count(now, inSystem);
    if (count - (seats.isLive(replaced, now) ? 1 : 0) >= inSystem && count >= inSystem) {
      return { kind: 'rejected', ...full(world, tiers, short), rates };
    }
  }
  const pool = stateOf(world, firstTier(input));
  const staying = pool.seats.live(now).filter((other) => other !== replaced);
  const ahead = staying.length - runningTasks(world, firstTier(input)).size;
  if (mostAhead !== undefined && ahead > mostAhead) {
    return { kind: 'behind', now, ahead, limitsVersion, tiers: liveUses(world, tiers), rates };
  }

  const deadline = addMs(now, settings.startWindowMs);
  locks.set(dedupKey, { creating: true, id, fingerprint, lastsMs: settings.lockMs });
  const uses = tiers.map((tier) => {
    const { seats, slots } = stateOf(world, tier);
    seats.remove(replaced);
    // As many as the check counted, and this one: leases that lapsed and were not dropped yet are among them.
    const inUse = seats.ends.size + 1;
    seats.set(member, deadline);
    return tierUse(world, tier, inUse, slots.ends.size);
  });
  const charged = new Map(budgets.map(({ ask }) => [ask.rule, ask.amount] as const).filter(([, amount]) => amount > 0));
  if (charged.size > 0) world.charges.set(id, { at: now, attempt: 0, amounts: charged });
  return { kind: 'admitted', now, deadline, epoch, limitsVersion, tiers: uses, rates: charge(world, budgets) };
}

function full(world: World, tiers: AdmitInput['tiers'], short: number) {
  return { now: world.now, short, limitsVersion: world.version ?? 0, tiers: liveUses(world, tiers) };
}

/** The lock becomes the pointer; never over another task's. */
export function confirm({ locks, settings }: World, { id, dedupKey, fingerprint }: ConfirmInput): ConfirmReply {
  const lock = locks.get(dedupKey);
  if (lock !== undefined && lock.id !== id) return { kind: 'other', taskId: lock.id };
  locks.set(dedupKey, { creating: false, id, fingerprint, lastsMs: settings.pointerMs });
  return { kind: 'confirmed' };
}

/** Of those that wait for a seat, one comes free every `everyMs`; what is left of them stands before this one. At most an hour of seats is counted. */
export function refuse({ now, refusals }: World, { tier, everyMs }: RefuseInput): { k: number } {
  const { count, at } = refusals.get(nameOf(tier)) ?? { count: 0, at: now };
  const since = Math.min(at, now);
  const freed = Math.floor((now - since) / everyMs);
  const k = Math.min(Math.max(count - freed, 0) + 1, Math.ceil(hour / everyMs));
  refusals.set(nameOf(tier), { count: k, at: freed < count ? since + freed * everyMs : now });
  return { k };
}
