import * as z from 'zod';
import { configuredLimits, type Limits, type Tier, type TierUse } from '../../domain/tiers.ts';
import { type CellKeys, isClients, limitLabel } from './keys.ts';

export const moment = z.int().min(1e12);
export const count = z.int().min(0);
/** A use, or a limit with -1 for none. */
export const useNumber = z.int().min(-1);

export function tierKeys(keys: CellKeys, tiers: readonly Tier[]): string[] {
  return tiers.flatMap((tier) => [keys.seats(tier), keys.slots(tier)]);
}

/** Labels of the tiers and their limits, packed, as `lua/include/tiers.lua` reads them. Widest first. */
export function tierArguments(limits: Limits, tiers: readonly Tier[]): [labels: string, limits: Buffer] {
  const each = tiers.flatMap((tier) => {
    const { inSystem, running } = configuredLimits(limits, tier);
    return [inSystem ?? -1, running ?? -1];
  });
  return [tiers.map(limitLabel).join(' '), packed(each)];
}

/** Whole numbers for `packed_integers` of `lua/include/arguments.lua`. Throws a RangeError on any that 32 bits do not hold. */
export function packed(numbers: readonly number[]): Buffer {
  const buffer = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) {
    if (!Number.isInteger(number)) throw new RangeError(`expected a whole number, got ${number}`);
    buffer.writeInt32BE(number, 4 * index);
  }
  return buffer;
}

export function sharedTiers(tiers: readonly Tier[]): number {
  return tiers.filter(({ tier }) => !isClients(tier)).length;
}

/** What `append_uses` writes for one tier. */
export const use = z.tuple([count, useNumber, count, useNumber]);
export const uses = z.array(useNumber).transform((numbers, ctx) => {
  const groups: z.output<typeof use>[] = [];
  for (let at = 0; at < numbers.length; at += 4) {
    const group = use.safeParse(numbers.slice(at, at + 4));
    if (!group.success) {
      ctx.addIssue({ code: 'custom', message: 'expected four integers a tier' });
      return z.NEVER;
    }
    groups.push(group.data);
  }
  return groups;
});

export function tierUses(tiers: readonly Tier[], groups: readonly z.output<typeof use>[]): TierUse[] {
  if (groups.length !== tiers.length)
    throw new Error(`expected the use of ${tiers.length} tiers, got ${groups.length}`);
  return tiers.map((tier, index) => tierUse(tier, groups[index] as z.output<typeof use>));
}

export function tierUse(tier: Tier, [inSystem, inSystemLimit, running, runningLimit]: z.output<typeof use>): TierUse {
  return {
    ...tier,
    inSystem: { inUse: inSystem, ...limited(inSystemLimit) },
    running: { inUse: running, ...limited(runningLimit) },
  };
}

function limited(limit: number): { limit?: number } {
  return limit < 0 ? {} : { limit };
}
