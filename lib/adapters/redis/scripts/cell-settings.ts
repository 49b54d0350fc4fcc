import * as z from 'zod';
import type { LimitsReply, RestoreReply, SingleReply } from '../../../domain/gate-replies.ts';
import type { Gate, LimitsInput, RestoreInput } from '../../../ports.ts';
import { type In, logNames, member, nowOf } from '../cell.ts';
import { limitLabel } from '../keys.ts';
import { formText } from '../rate-arguments.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import { count, sharedTiers, tierKeys } from '../tier-arguments.ts';

export const limitsScript: Script<In<LimitsInput>, LimitsReply> = defineScript({
  name: 'limits',
  source: sources.limits,
  keys: ({ cell: { keys } }) => [keys.limits, keys.log, keys.liveRates],
  args: ({ cell, input }) => [
    nowOf(cell),
    input.version,
    ...input.overrides.flatMap(({ tier, limits }) => {
      const label = limitLabel(tier);
      const field = (name: string, value: number | undefined) =>
        value === undefined ? [] : [`${name}:${label}`, value];
      return [...field('inSystem', limits.inSystem), ...field('running', limits.running)];
    }),
    ...Object.entries(input.paused).flatMap(([name, { admission }]) => [
      `paused:${limitLabel({ tier: 'pool', name })}`,
      admission === 'continue' ? 1 : 2,
    ]),
    ...Object.entries(input.rates ?? {}).flatMap(([rule, numbers]) => [`rate:${rule}`, formText(numbers)]),
  ],
  schema: z.union([z.tuple([z.literal('applied')]), z.tuple([z.literal('older'), count])]),
  read: (raw): LimitsReply => (raw[0] === 'applied' ? { kind: 'applied' } : { kind: 'older', version: raw[1] }),
});

export const restoreScript: Script<In<RestoreInput>, RestoreReply> = defineScript({
  name: 'restore',
  source: sources.restore,
  keys: ({ cell: { keys }, input }) => [
    keys.limits,
    keys.rebuild,
    keys.holders,
    keys.log,
    ...(input.lease === undefined ? [] : tierKeys(keys, input.lease.tiers)),
  ],
  args: ({ cell, input: { nonce, lockMs, take, epoch, lease } }) => [
    nowOf(cell),
    nonce,
    lockMs,
    take === true ? 1 : 0,
    epoch ?? '',
    lease === undefined ? '' : member(lease),
    lease?.seatUntil ?? '',
    lease?.holder ?? '',
    lease?.attempt ?? 0,
    lease?.permits ?? 1,
    lease?.leaseMs ?? 1,
    logNames(cell.keys, lease?.tiers ?? []),
    sharedTiers(lease?.tiers ?? []),
  ],
  schema: z.tuple([z.enum(['restored', 'begun', 'begun_already', 'not_mine'])]),
  read: ([kind]): RestoreReply => ({ kind }),
});

export const singleScript: Script<In<Parameters<Gate['single']>[0]>, SingleReply> = defineScript({
  name: 'single',
  source: sources.single,
  keys: ({ cell: { keys }, input }) => [keys.single(input.name)],
  args: ({ input }) => [input.nonce, input.lastMs],
  schema: z.tuple([z.enum(['mine', 'taken'])]),
  read: ([kind]): SingleReply => ({ kind }),
});
