import * as z from 'zod';
import type { Ledger, LedgerSlot, Observation, PoolTimes } from '../../../domain/gate-replies.ts';
import { buckets } from '../../../domain/service-times.ts';
import type { Tier } from '../../../domain/tiers.ts';
import { addMs, type EpochMs, toEpochMs } from '../../../domain/time.ts';
import type { ObserveInput, SeatsInput, TaskKey } from '../../../ports.ts';
import { type In, member, nowOf, readMember } from '../cell.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import { count, moment, tierArguments, tierKeys, tierUse, use, useNumber } from '../tier-arguments.ts';

const observedTier = z.tuple([...use.def.items, count, useNumber, z.string(), z.int().min(0).max(2)]);
/** As `lua/include/tiers.lua` numbers them; 0 is none. */
const pauses = { 1: { admission: 'continue' }, 2: { admission: 'refuse' } } as const;

export const observeScript: Script<In<ObserveInput>, Observation> = defineScript({
  name: 'observe',
  source: sources.observe,
  keys: ({ cell: { keys }, input }) => [keys.limits, ...tierKeys(keys, input.tiers)],
  args: ({ cell, input }) => [
    nowOf(cell),
    input.of === undefined ? '' : member(input.of),
    ...tierArguments(cell.limits, input.tiers),
  ],
  schema: z.tuple([z.literal('observed'), moment, count, count], z.union([z.string(), z.int()])),
  read: ([, now, limitsVersion, epoch, ...rest], { input }): Observation => ({
    now: toEpochMs(now),
    limitsVersion,
    rebuilding: epoch === 0,
    tiers: input.tiers.map((tier, index) => {
      const part = rest.slice(index * observedTier.def.items.length, (index + 1) * observedTier.def.items.length);
      const [a, b, c, d, tasksRunning, ahead, oldest, paused] = observedTier.parse(part);
      return {
        ...tierUse(tier, [a, b, c, d]),
        tasksRunning,
        ...(ahead < 0 ? {} : { ahead }),
        ...(oldest === '' ? {} : { oldestWaiting: readMember(oldest).id }),
        ...(paused === 1 || paused === 2 ? { paused: pauses[paused] } : {}),
      };
    }),
  }),
});

const slot = z.tuple([count, z.string(), moment, z.string()]);

export const ledgerScript: Script<In<readonly Tier[]>, Ledger> = defineScript({
  name: 'ledger',
  source: sources.ledger,
  keys: ({ cell: { keys }, input }) => [keys.holders, ...input.map((tier) => keys.slots(tier))],
  args: ({ cell }) => [nowOf(cell)],
  schema: z.tuple([z.literal('ledger'), moment], z.union([z.string(), z.int()])),
  read: ([, now, ...rest], { input }): Ledger => {
    const held = new Map<string, LedgerSlot>();
    for (let at = 0; at < rest.length; at += 4) {
      const [index, slotMember, lapses, holder] = slot.parse(rest.slice(at, at + 4));
      const tier = input[index - 1];
      if (tier === undefined) throw new Error(`expected one of ${input.length} tiers, got ${index}`);
      const name = slotMember.slice(0, slotMember.lastIndexOf('#'));
      const key = `${index} ${name}`;
      held.set(key, { ...readSlot(tier, name, lapses, holder), permits: (held.get(key)?.permits ?? 0) + 1 });
    }
    return { now: toEpochMs(now), slots: [...held.values()] };
  },
});

function readSlot(tier: Tier, name: string, lapses: number, holder: string): Omit<LedgerSlot, 'permits'> {
  const [, since, attempt, leaseMs] = holder.split('|');
  const lapsesAt = toEpochMs(lapses);
  const known =
    leaseMs === undefined
      ? {}
      : { since: toEpochMs(Number(since)), attempt: Number(attempt), lastHeartbeat: addMs(lapsesAt, -Number(leaseMs)) };
  const { tenant, id } = readMember(name);
  return { ...tier, tenant, taskId: id, lapsesAt, ...known };
}

export const timesScript: Script<In<readonly Tier[]>, PoolTimes[]> = defineScript({
  name: 'times',
  source: sources.times,
  keys: ({ cell: { keys }, input }) => input.map((tier) => keys.times(tier)),
  args: () => [],
  schema: z.tuple([z.literal('times')], count),
  read: ([, ...counts], { input }): PoolTimes[] =>
    input.map((_tier, index) => {
      const part = counts.slice(index * (buckets + 3), (index + 1) * (buckets + 3));
      const [totalMs = 0, etasTold = 0, etasKept = 0] = part.slice(buckets);
      return { times: { counts: part.slice(0, buckets), totalMs }, etasTold, etasKept };
    }),
});

export const seatsScript: Script<In<SeatsInput>, { readonly now: EpochMs; readonly tasks: TaskKey[] }> = defineScript({
  name: 'seats',
  source: sources.seats,
  keys: ({ cell: { keys }, input }) => [keys.seats(input.tier)],
  args: ({ cell, input }) => [nowOf(cell), input.offset, input.count],
  schema: z.tuple([z.literal('seats'), moment], z.string()),
  read: ([, now, ...members]) => ({
    now: toEpochMs(now),
    tasks: members.map(readMember),
  }),
});
