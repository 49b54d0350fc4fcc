import { eta } from '../domain/eta.ts';
import {
  effectiveLimits,
  type LimitFault,
  mergePatch,
  type Overrides,
  type Paused,
  rateOverrides,
  readOverrides,
  tierOverrides,
} from '../domain/live-limits.ts';
import { taskTime } from '../domain/service-times.ts';
import type { Tier } from '../domain/tiers.ts';
import type { EpochMs } from '../domain/time.ts';
import { type LimitsVersion, Unavailable } from '../ports.ts';
import { changeable } from './changeable.ts';
import type { Deps } from './deps.ts';
import { logFailure } from './log-failure.ts';

/** Limits in force; version 0 is the configuration alone, never changed by anybody. */
export type LimitsView = {
  readonly version: number;
  readonly limits: Required<Overrides>;
  readonly overrides: Overrides;
  readonly paused: Paused;
  readonly changedAt?: EpochMs;
  readonly changedBy?: string;
};

/** What a change does to one limit: from, to, and what is over it now. Nothing that runs or waits is stopped. */
export type LimitEffect = Tier & {
  readonly limit: 'running' | 'inSystem';
  readonly from?: number;
  readonly to?: number;
  readonly inUse: number;
  readonly over: number;
  /** Until `over` has ended by itself, in half of all cases. */
  readonly drainsInMs?: number;
};

export type LimitsChange = {
  /** `merge`: an RFC 7396 patch of the overrides. `replace`: all of them. */
  readonly how: 'merge' | 'replace';
  readonly body: unknown;
  /** The version the operator saw; undefined where it does not matter. */
  readonly ifVersion?: number | undefined;
  readonly dryRun: boolean;
  readonly by: string;
};

export type LimitsChanged =
  | {
      readonly kind: 'changed' | 'would_change';
      readonly view: LimitsView;
      readonly effects: readonly LimitEffect[];
      /** Stored, but Redis did not answer: in force once reconcile has put them there, within a minute. */
      readonly delayed?: true;
    }
  | { readonly kind: 'stale'; readonly version: number }
  | { readonly kind: 'faults'; readonly faults: readonly LimitFault[] };

type LimitDeps = Pick<Deps, 'weir' | 'records' | 'gate' | 'clock' | 'log'>;

/** The limits in force, or as they were with an earlier version. Undefined: there is no such version. */
export async function readLimits(
  { weir, records }: Pick<Deps, 'weir' | 'records'>,
  version?: number,
): Promise<LimitsView | undefined> {
  if (version === 0) return viewOf(weir, undefined);
  const stored = await records.readLimits(version);
  return version !== undefined && stored === undefined ? undefined : viewOf(weir, stored);
}

const mostRounds = 5;

/**
 * Changes live limits: DynamoDB first, which keeps every version, then Redis, where they are in force from the next decision on. A change that names no
 * version is made again when another came in between.
 */
export async function changeLimits(deps: LimitDeps, change: LimitsChange): Promise<LimitsChanged> {
  for (let round = 1; ; round++) {
    const changed = await changeOnce(deps, change);
    const again = changed.kind === 'stale' && change.ifVersion === undefined;
    if (!again || round >= mostRounds) return changed;
  }
}

async function changeOnce(deps: LimitDeps, change: LimitsChange): Promise<LimitsChanged> {
  const stored = await deps.records.readLimits();
  const before = viewOf(deps.weir, stored);
  if (change.ifVersion !== undefined && change.ifVersion !== before.version)
    return { kind: 'stale', version: before.version };
  const wanted = change.how === 'merge' ? mergePatch(before.overrides, change.body) : change.body;
  const read = readOverrides(wanted, changeable(deps.weir));
  if (read.kind === 'faults') return read;
  const next: LimitsVersion = {
    version: before.version + 1,
    overrides: read.overrides,
    paused: before.paused,
    changedAt: deps.clock.now(),
    changedBy: change.by,
  };
  const view = viewOf(deps.weir, next);
  const effects = await effectsOf(deps, before, view).catch((error: unknown) => {
    // A change is welcome while Redis is away; a dry run has nothing else to say.
    if (error instanceof Unavailable && !change.dryRun) return [];
    throw error;
  });
  if (change.dryRun) return { kind: 'would_change', view, effects };
  switch (await storeLimits(deps, next)) {
    case 'stored':
      return { kind: 'changed', view, effects };
    case 'delayed':
      return { kind: 'changed', view, effects, delayed: true };
    case 'stale': {
      const current = await deps.records.readLimits();
      return { kind: 'stale', version: current?.version ?? 0 };
    }
  }
}

/** Stores a version and puts it into force. `stale`: another change came first. `delayed`: it stands, and reconcile puts it into force. */
export async function storeLimits(
  deps: Pick<Deps, 'weir' | 'records' | 'gate' | 'log'>,
  next: LimitsVersion,
): Promise<'stored' | 'delayed' | 'stale'> {
  if (!(await deps.records.writeLimits(next))) return 'stale';
  deps.log.info('limits changed', { version: next.version, by: next.changedBy });
  try {
    await enforce(deps, next);
    return 'stored';
  } catch (error) {
    logFailure(deps.log, 'limits are not in force yet', error, { version: next.version });
    return 'delayed';
  }
}

/** Puts the stored limits into force in Redis, where an older version is: what a change could not do because Redis was away. */
export async function enforceStored(deps: Pick<Deps, 'weir' | 'records' | 'gate'>): Promise<void> {
  const stored = await deps.records.readLimits();
  if (stored !== undefined) await enforce(deps, stored);
}

async function enforce(
  { weir, gate }: Pick<Deps, 'weir' | 'gate'>,
  { version, overrides, paused }: LimitsVersion,
): Promise<void> {
  // A pool that is no longer configured has no pause.
  const known = Object.fromEntries(Object.entries(paused).filter(([pool]) => Object.hasOwn(weir.pools, pool)));
  const all = changeable(weir);
  await gate.setLimits({
    version,
    overrides: tierOverrides(all, overrides),
    paused: known,
    rates: rateOverrides(all, overrides),
  });
}

function viewOf(weir: Deps['weir'], stored: LimitsVersion | undefined): LimitsView {
  const { overrides = {}, paused = {} } = stored ?? {};
  const limits = effectiveLimits(changeable(weir), overrides);
  if (stored === undefined) return { version: 0, limits, overrides, paused };
  const { version, changedAt, changedBy } = stored;
  return { version, limits, overrides, paused, changedAt, changedBy };
}

/** Of pools and apis whose limits change; what one client holds has no one number. */
async function effectsOf({ weir, gate }: LimitDeps, before: LimitsView, after: LimitsView): Promise<LimitEffect[]> {
  const tiers: Tier[] = [
    ...Object.keys(weir.pools).map((name) => ({ tier: 'pool' as const, name })),
    ...Object.keys(weir.tasks).map((name) => ({ tier: 'api' as const, name })),
  ].filter((tier) => JSON.stringify(limitsOf(before, tier)) !== JSON.stringify(limitsOf(after, tier)));
  if (tiers.length === 0) return [];
  const [seen, times] = await Promise.all([gate.observe({ tiers }), gate.times(tiers)]);
  return seen.tiers.flatMap((use, index) =>
    (['running', 'inSystem'] as const).flatMap((limit): LimitEffect[] => {
      const [from, to] = [limitsOf(before, use)[limit], limitsOf(after, use)[limit]];
      if (from === to) return [];
      const { inUse } = use[limit];
      const over = to === undefined ? 0 : Math.max(0, inUse - to);
      const time = taskTime(times[index]?.times ?? { counts: [], totalMs: 0 }, longestTimeoutMs(weir, use));
      const running = use.running.inUse;
      const drain =
        over === 0
          ? undefined
          : eta(time, { position: over, running: Math.max(1, running), inUse: Math.max(1, running) });
      return [
        {
          tier: use.tier,
          name: use.name,
          limit,
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          inUse,
          over,
          ...(drain === undefined || drain.kind === 'unknown' ? {} : { drainsInMs: drain.p50 }),
        },
      ];
    }),
  );
}

function limitsOf(
  { limits }: LimitsView,
  { tier, name }: Tier,
): { running?: number | undefined; inSystem?: number | undefined } {
  if (tier !== 'pool') return limits.apis[name] ?? {};
  const { running, pending } = limits.pools[name] ?? {};
  return { running, inSystem: running === undefined || pending === undefined ? undefined : running + pending };
}

function longestTimeoutMs(weir: Deps['weir'], { tier, name }: Tier): number {
  const tasks = Object.values(weir.tasks).filter((task) => (tier === 'pool' ? task.pool : task.api) === name);
  return Math.max(1, ...tasks.map(({ timeoutMs }) => timeoutMs));
}
