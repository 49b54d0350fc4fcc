import type { PoolTimes } from '../../../lib/domain/gate-replies.ts';
import { buckets, mostSamples } from '../../../lib/domain/service-times.ts';
import type { Tier } from '../../../lib/domain/tiers.ts';
import { type Learnt, nameOf, type World } from './world.ts';

export function learntOf({ learnt }: World, tier: Tier): Learnt {
  const known = learnt.get(nameOf(tier)) ?? { counts: Array(buckets).fill(0), totalMs: 0, told: 0, kept: 0 };
  learnt.set(nameOf(tier), known);
  return known;
}

export function samplesOf({ counts }: Learnt): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Bucket i begins at 10·2^(i/2) ms. With too many samples every count is halved, and the sum so that the mean stays. */
export function learn(world: World, tier: Tier, ms: number): void {
  const times = learntOf(world, tier);
  const from = Array.from({ length: buckets }, (_, bucket) => 100 * 2 ** bucket);
  const bucket = Math.max(
    0,
    from.findLastIndex((square) => square <= ms * ms),
  );
  times.counts[bucket] = (times.counts[bucket] ?? 0) + 1;
  times.totalMs += ms;
  const before = samplesOf(times);
  if (before <= mostSamples) return;
  times.counts = times.counts.map((count) => Math.floor(count / 2));
  times.totalMs = Math.floor((times.totalMs * samplesOf(times)) / before);
}

export function times(world: World, tiers: readonly Tier[]): PoolTimes[] {
  return tiers.map((tier) => {
    const { counts, totalMs, told, kept } = learntOf(world, tier);
    return { times: { counts: [...counts], totalMs }, etasTold: told, etasKept: kept };
  });
}
