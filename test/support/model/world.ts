import type { Paused } from '../../../lib/domain/live-limits.ts';
import type { RateNumbers, RateRules } from '../../../lib/domain/rates.ts';
import {
  configuredLimits,
  type Limits,
  type Tier,
  type TierKind,
  type TierLimits,
  type TierUse,
} from '../../../lib/domain/tiers.ts';
import type { EpochMs } from '../../../lib/domain/time.ts';
import type { Claim } from '../../../lib/ports.ts';
import { Leases } from './leases.ts';

/** What is fixed for a cell. */
export type Settings = {
  readonly limits: Limits;
  readonly rates?: RateRules;
  readonly lockMs: number;
  readonly startWindowMs: number;
  readonly pointerMs: number;
};

/** `creating`: a lock; else a pointer. It goes `lastsMs` after it was written, by the server's own clock: whoever moves the clock removes it. */
export type Lock = {
  readonly creating: boolean;
  readonly id: Claim['id'];
  readonly fingerprint: string;
  readonly lastsMs: number;
};
export type Holder = {
  readonly nonce: string;
  readonly since: EpochMs;
  readonly attempt: number;
  readonly leaseMs: number;
};
export type TierState = { readonly seats: Leases; readonly slots: Leases };
/** How long the attempts of a pool or api held their slots, and how many were told when they would start and did. */
export type Learnt = { counts: number[]; totalMs: number; told: number; kept: number };

/** What a rate rule keeps of one identity, until `expires`: then everything is there again. */
export type RateState = { readonly expires: number } & (
  | { readonly kind: 'window'; readonly count: number; readonly opened: number; readonly ends: number }
  | {
      readonly kind: 'bucket';
      readonly level: bigint;
      readonly at: number;
      readonly opened: number;
      readonly burst: number;
      readonly refill: number;
      readonly token: number;
    }
  | { readonly kind: 'gcra'; readonly tat: bigint }
);
/** What a task was charged, and by which attempt that was last corrected. */
export type Charged = {
  readonly at: EpochMs;
  readonly attempt: number;
  readonly amounts: ReadonlyMap<string, number>;
};

/** Everything Redis knows of one cell. */
export type World = {
  now: EpochMs;
  readonly settings: Settings;
  epoch: number | undefined;
  version: number | undefined;
  overrides: Map<string, TierLimits>;
  paused: Paused;
  liveRates: Readonly<Record<string, RateNumbers>>;
  readonly locks: Map<string, Lock>;
  readonly holders: Map<string, Holder>;
  rebuilder: { readonly nonce: string; readonly lastsMs: number } | undefined;
  readonly tiers: Map<string, TierState>;
  readonly learnt: Map<string, Learnt>;
  readonly refusals: Map<string, { readonly count: number; readonly at: number }>;
  readonly rates: Map<string, RateState>;
  readonly charges: Map<Claim['id'], Charged>;
};

export function newWorld(settings: Settings, now: EpochMs): World {
  return {
    now,
    settings,
    epoch: undefined,
    version: undefined,
    overrides: new Map(),
    paused: {},
    liveRates: {},
    locks: new Map(),
    holders: new Map(),
    rebuilder: undefined,
    tiers: new Map(),
    learnt: new Map(),
    refusals: new Map(),
    rates: new Map(),
    charges: new Map(),
  };
}

/** Redis lost its data; the moment and the configuration stay. */
export function loseData(world: World): void {
  Object.assign(world, newWorld(world.settings, world.now));
}

export function nameOf({ tier, name }: Tier): string {
  return `${tier}:${name}`;
}

export function stateOf(world: World, tier: Tier): TierState {
  const name = nameOf(tier);
  const known = world.tiers.get(name) ?? { seats: new Leases(), slots: new Leases() };
  world.tiers.set(name, known);
  return known;
}

/** One override holds for every tenant, one for every address; a pool and an api have their own. */
export function overriddenName({ tier, name }: { tier: TierKind; name: string }): string {
  return tier === 'tenant' || tier === 'ip' ? tier : nameOf({ tier, name });
}

/** What an operator changed live counts, else what is configured; absent is no limit and 0 is closed. */
export function limitsOf(world: World, tier: Tier): TierLimits {
  const live = world.overrides.get(overriddenName(tier));
  const configured = configuredLimits(world.settings.limits, tier);
  return { inSystem: live?.inSystem ?? configured.inSystem, running: live?.running ?? configured.running };
}

export function memberOf({ tenant, id }: Pick<Claim, 'tenant' | 'id'>): string {
  return `${tenant}|${id}`;
}

/** A task of n permits holds n slots. */
export function slotsOf(claim: Claim): string[] {
  return Array.from({ length: claim.permits }, (_, index) => `${memberOf(claim)}#${index + 1}`);
}

export function firstTier({ tiers }: Pick<Claim, 'tiers'>): Tier {
  const [first] = tiers;
  if (first === undefined) throw new Error('expected a task of at least one tier');
  return first;
}

export function tierUse(world: World, tier: Tier, inSystem: number, running: number): TierUse {
  const limits = limitsOf(world, tier);
  const use = (inUse: number, limit: number | undefined) => ({ inUse, ...(limit === undefined ? {} : { limit }) });
  return { ...tier, inSystem: use(inSystem, limits.inSystem), running: use(running, limits.running) };
}

/** What every tier holds now. */
export function liveUses(world: World, tiers: readonly Tier[]): TierUse[] {
  return tiers.map((tier) => {
    const { seats, slots } = stateOf(world, tier);
    return tierUse(world, tier, seats.live(world.now).length, slots.live(world.now).length);
  });
}

/** Distinct tasks with a live slot. */
export function runningTasks(world: World, tier: Tier): Set<string> {
  const slots = stateOf(world, tier).slots.live(world.now);
  return new Set(slots.map((slot) => slot.slice(0, slot.lastIndexOf('#'))));
}
