import { type RateOverrides, ratesInForce, readRateOverrides } from './live-rates.ts';
import type { RateNumbers, RateRules } from './rates.ts';
import type { Limits, Tier, TierLimits } from './tiers.ts';

type ClientOverrides = { readonly running?: number; readonly inSystem?: number };

/** What an operator changed live, in the shape of the configuration. A tier that is absent is as configured. */
export type Overrides = {
  readonly pools?: Readonly<Record<string, { readonly running?: number; readonly pending?: number }>>;
  readonly apis?: Readonly<Record<string, ClientOverrides>>;
  readonly tenant?: ClientOverrides;
  readonly ip?: ClientOverrides;
  readonly rates?: RateOverrides;
};

/** A paused pool starts nothing; `continue`: it goes on admitting tasks while it has room, `refuse`: it takes none. */
export type Pause = { readonly admission: 'continue' | 'refuse' };
/** Paused pools by name. */
export type Paused = Readonly<Record<string, Pause>>;

/** What may be changed: the configured pools with the most each may run, the apis, and the limits and rate rules as configured. */
export type Changeable = {
  readonly pools: Readonly<
    Record<string, { readonly running: number; readonly pending: number; readonly maxRunning: number }>
  >;
  readonly apis: readonly string[];
  readonly limits: Limits;
  readonly rates: RateRules;
};

export type LimitFault = { readonly path: string; readonly message: string };

const groups = ['pools', 'apis', 'tenant', 'ip', 'rates'] as const;
const mostLimit = 1_000_000;

/** RFC 7396: members of `patch` replace those of `target`, objects are merged, null removes. Neither is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** Overrides with nothing empty in them, or every fault by its path: unknown names, values that are no limit, more than a pool may run. */
export function readOverrides(
  given: unknown,
  changeable: Changeable,
):
  | { readonly kind: 'overrides'; readonly overrides: Overrides }
  | { readonly kind: 'faults'; readonly faults: LimitFault[] } {
  const faults: LimitFault[] = [];
  const overrides: Record<string, unknown> = {};
  for (const [group, value] of objectEntries(given, '', faults)) {
    if (group === 'pools' || group === 'apis') {
      const known = group === 'pools' ? Object.keys(changeable.pools) : changeable.apis;
      const named = objectEntries(value, group, faults).map(([name, limits]) => {
        const path = `${group}.${name}`;
        if (!known.includes(name)) faults.push({ path, message: `expected one of ${known.join(', ')}` });
        return [
          name,
          readLimits(limits, path, group === 'pools' ? ['running', 'pending'] : ['running', 'inSystem'], faults),
        ] as const;
      });
      overrides[group] = Object.fromEntries(named.filter(([, limits]) => Object.keys(limits).length > 0));
    } else if (group === 'tenant' || group === 'ip') {
      overrides[group] = readLimits(value, group, ['running', 'inSystem'], faults);
    } else if (group === 'rates') {
      const named = objectEntries(value, group, faults).map(([name, numbers]) => {
        return [name, Object.fromEntries(objectEntries(numbers, `${group}.${name}`, faults))] as const;
      });
      const read = readRateOverrides(named, changeable.rates);
      faults.push(...read.faults);
      overrides[group] = read.overrides;
    } else {
      faults.push({ path: group, message: `expected one of ${groups.join(', ')}` });
    }
  }
  const cleaned = Object.fromEntries(
    Object.entries(overrides).filter(([, value]) => Object.keys(value as object).length > 0),
  ) as Overrides;
  for (const [name, { running, pending }] of Object.entries(cleaned.pools ?? {})) {
    const pool = changeable.pools[name];
    if (pool === undefined) continue;
    if (running !== undefined && running > pool.maxRunning) {
      const message = `expected at most ${pool.maxRunning}, the consumers this pool was deployed with (maxRunning), got ${running}`;
      faults.push({ path: `pools.${name}.running`, message });
    }
    const inSystem = (running ?? pool.running) + (pending ?? pool.pending);
    if (inSystem > mostLimit) {
      faults.push({
        path: `pools.${name}`,
        message: `expected running + pending of at most ${mostLimit}, got ${inSystem}`,
      });
    }
  }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'overrides', overrides: cleaned };
}

/** The limits in force under these overrides, in the shape of the configuration. */
export function effectiveLimits({ pools, limits, rates }: Changeable, overrides: Overrides): Required<Overrides> {
  return {
    pools: Object.fromEntries(
      Object.entries(pools).map(([name, { running, pending }]) => [
        name,
        { running, pending, ...overrides.pools?.[name] },
      ]),
    ),
    apis: mergeEach(limits.apis, overrides.apis ?? {}),
    tenant: { ...present(limits.tenant), ...overrides.tenant },
    ip: { ...present(limits.ip), ...overrides.ip },
    rates: ratesInForce(rates, overrides.rates),
  };
}

/** The same for the gate: each overridden tier with its two limits. A pool's `inSystem` is what runs and what may wait. */
export function tierOverrides(changeable: Changeable, overrides: Overrides): { tier: Tier; limits: TierLimits }[] {
  const effective = effectiveLimits(changeable, overrides);
  const pools = Object.keys(overrides.pools ?? {}).map((name) => {
    const { running = 0, pending = 0 } = effective.pools[name] ?? {};
    return { tier: { tier: 'pool' as const, name }, limits: { running, inSystem: running + pending } };
  });
  const apis = Object.entries(overrides.apis ?? {}).map(([name, limits]) => ({
    tier: { tier: 'api' as const, name },
    limits,
  }));
  const clients = (['tenant', 'ip'] as const).flatMap((tier) => {
    const limits = overrides[tier];
    return limits === undefined ? [] : [{ tier: { tier, name: '*' }, limits }];
  });
  return [...pools, ...apis, ...clients];
}

/** And of each rule that is overridden, the numbers in force. A rule that is no longer configured has none. */
export function rateOverrides({ rates }: Changeable, overrides: Overrides): Record<string, RateNumbers> {
  const inForce = ratesInForce(rates, overrides.rates);
  return Object.fromEntries(Object.entries(inForce).filter(([name]) => Object.hasOwn(overrides.rates ?? {}, name)));
}

function readLimits(
  given: unknown,
  path: string,
  names: readonly string[],
  faults: LimitFault[],
): Record<string, number> {
  const limits: Record<string, number> = {};
  for (const [name, value] of objectEntries(given, path, faults)) {
    if (!names.includes(name)) faults.push({ path: `${path}.${name}`, message: `expected one of ${names.join(', ')}` });
    else if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > mostLimit) {
      faults.push({
        path: `${path}.${name}`,
        message: `expected a whole number from 0 to ${mostLimit}, got ${JSON.stringify(value)}`,
      });
    } else limits[name] = value;
  }
  return limits;
}

function mergeEach(base: Limits['apis'], over: NonNullable<Overrides['apis']>): NonNullable<Overrides['apis']> {
  const names = [...new Set([...Object.keys(base), ...Object.keys(over)])];
  return Object.fromEntries(names.map((name) => [name, { ...present(base[name] ?? {}), ...over[name] }]));
}

function present({ running, inSystem }: TierLimits): ClientOverrides {
  return { ...(running === undefined ? {} : { running }), ...(inSystem === undefined ? {} : { inSystem }) };
}

function objectEntries(value: unknown, path: string, faults: LimitFault[]): [string, unknown][] {
  if (isObject(value)) return Object.entries(value);
  faults.push({ path: path || 'the body', message: `expected an object, got ${JSON.stringify(value)}` });
  return [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
