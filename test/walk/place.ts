import { toTaskId } from '../../lib/domain/task-id.ts';
import type { Limits, Tier, TierLimits } from '../../lib/domain/tiers.ts';
import { addMs, day, hour, minute, second, toEpochMs } from '../../lib/domain/time.ts';
import type { Random } from '../protocol/random.ts';
import { newWorld, type World } from '../support/model.ts';
import { rateNumbersOf, rulesOf } from './rate-rules.ts';

/** Pools, apis, clients and dedup keys of every walk: few, so that tasks meet. One tenant has a name that looks like a member. */
const apis = { 'g/a': 'p', 'g/b': 'p', 'g/c': 'q' } as const;
export const pools = ['p', 'q'];
export const tenants = ['t', 'u|#1'];
export const ips = ['192.0.2.1', '2001:db8::/56'];
const name = (tier: Tier['tier']) => (each: string) => ({ tier, name: each });

export const everyTier: readonly Tier[] = [
  ...pools.map(name('pool')),
  ...Object.keys(apis).map(name('api')),
  ...tenants.map(name('tenant')),
  ...ips.map(name('ip')),
];
/** Tiers that keep service times. */
export const everybodysTiers = everyTier.filter(({ tier }) => tier === 'pool' || tier === 'api');

export type DedupKey = { readonly dedupKey: string; readonly tenant: string; readonly api: keyof typeof apis };
export const dedupKeys: readonly DedupKey[] = (
  [
    ['t', 'g/a', '1'],
    ['t', 'g/a', '2'],
    ['t', 'g/b', '3'],
    ['u|#1', 'g/a', '4'],
    ['u|#1', 'g/c', '5'],
    ['t', 'g/c', '6'],
  ] as const
).map(([tenant, api, key]) => ({ dedupKey: `D#${tenant}#f#${key}`, tenant, api }));

/** A task as its record names it. */
export type Task = ReturnType<typeof taskAt>;

export function taskAt(dice: Random, number: number) {
  const { dedupKey, tenant, api } = dice.pick(dedupKeys);
  const tiers: Tier[] = [
    { tier: 'pool', name: apis[api] },
    { tier: 'api', name: api },
    { tier: 'tenant', name: tenant },
    { tier: 'ip', name: dice.pick(ips) },
  ];
  return {
    tenant,
    // Not in the order of their making: equal moments are told apart by name.
    id: toTaskId(`00000000-0000-7000-8000-${((number * 7_919) % 1_000_003).toString(16).padStart(12, '0')}`),
    tiers,
    permits: dice.pick([1, 1, 1, 2, 2, 3]),
    dedupKey,
    fingerprint: `sha256:${dedupKey}`,
  };
}

/** Where clocks start in a walk: ahead of the server's, so that nothing it expires by its own clock goes, and the same in every replay of a run. */
const start = addMs(toEpochMs(Math.ceil(Date.now() / hour) * hour), 20 * hour);

/** A new cell with limits of 0 to 4 in a share of its tiers. */
export function openWorld(dice: Random, share = dice.pick([0.2, 0.5, 0.8])): World {
  const limit = (): number | undefined => (dice.chance(share) ? limitOf(dice) : undefined);
  const both = (): TierLimits => ({ inSystem: limit(), running: limit() });
  const each = (names: readonly string[]) => Object.fromEntries(names.map((each) => [each, both()]));
  const limits: Limits = { pools: each(pools), apis: each(Object.keys(apis)), tenant: both(), ip: both() };
  const rates = rulesOf(() => (dice.chance(0.6) ? rateNumbersOf(dice) : undefined));
  return newWorld({ limits, rates, lockMs: 10 * minute, startWindowMs: 60 * second, pointerMs: day }, start);
}

export function limitOf(dice: Random): number {
  return dice.pick([0, 1, 1, 2, 2, 3, 3, 4, 4]);
}
