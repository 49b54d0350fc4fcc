import * as z from 'zod';
import type { AcquireReply, AliveReply, ExtendReply, KeepReply, ReleaseReply } from '../../../domain/gate-replies.ts';
import type { Tier } from '../../../domain/tiers.ts';
import { type EpochMs, toEpochMs } from '../../../domain/time.ts';
import type { AcquireInput, Claim, ReleaseInput } from '../../../ports.ts';
import { type In, logNames, member, nowOf } from '../cell.ts';
import type { CellKeys } from '../keys.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import { count, moment, sharedTiers, tierArguments, tierKeys } from '../tier-arguments.ts';

const rebuilding = z.tuple([z.literal('rebuilding')]);

export const acquireScript: Script<In<Claim & AcquireInput>, AcquireReply> = defineScript({
  name: 'acquire',
  source: sources.acquire,
  keys: ({ cell: { keys }, input }) => [
    keys.limits,
    keys.holders,
    keys.log,
    ...timesKeys(keys, input.tiers).slice(0, 1),
    ...tierKeys(keys, input.tiers),
  ],
  args: ({ cell, input }) => [
    nowOf(cell),
    member(input),
    input.nonce,
    input.attempt,
    input.permits,
    input.leaseMs,
    input.deadline,
    input.seatMs,
    input.epoch,
    input.expectedBy ?? '',
    logNames(cell.keys, input.tiers),
    sharedTiers(input.tiers),
    ...tierArguments(cell.limits, input.tiers),
  ],
  schema: z.union([
    rebuilding,
    z.tuple([z.literal('acquired'), moment, moment, count]),
    z.tuple([z.literal('late'), moment]),
    z.tuple([z.literal('held'), moment]),
    z.tuple([z.literal('paused')]),
    z.tuple([z.literal('busy'), count, count, count, count]),
    z.tuple([z.literal('unseated'), count, count, count]),
  ]),
  read: (raw): AcquireReply => {
    switch (raw[0]) {
      case 'acquired':
        return { kind: 'acquired', now: toEpochMs(raw[1]), lapses: toEpochMs(raw[2]), epoch: raw[3] };
      case 'held':
        return { kind: 'held', lapses: toEpochMs(raw[1]) };
      case 'busy':
        return { kind: 'busy', tier: raw[1] - 1, inUse: raw[2], limit: raw[3], hintMs: raw[4] };
      case 'unseated':
        return { kind: 'unseated', tier: raw[1] - 1, inUse: raw[2], limit: raw[3] };
      case 'late':
      case 'paused':
      case 'rebuilding':
        return { kind: raw[0] };
    }
  },
});

export const extendScript: Script<In<Claim & { nonce: string; leaseMs: number }>, ExtendReply> = defineScript({
  name: 'extend',
  source: sources.extend,
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.holders, keys.log, ...tierKeys(keys, input.tiers)],
  args: ({ cell, input }) => [
    nowOf(cell),
    member(input),
    input.nonce,
    input.permits,
    input.leaseMs,
    sharedTiers(input.tiers),
  ],
  schema: z.union([rebuilding, z.tuple([z.literal('lost')]), z.tuple([z.enum(['extended', 'seatless']), moment])]),
  read: (raw): ExtendReply =>
    raw[0] === 'extended' || raw[0] === 'seatless' ? { kind: raw[0], lapses: toEpochMs(raw[1]) } : { kind: raw[0] },
});

export const keepScript: Script<In<Claim & { until: EpochMs }>, KeepReply> = defineScript({
  name: 'keep',
  source: sources.keep,
  keys: ({ cell: { keys }, input }) => tierKeys(keys, input.tiers),
  args: ({ input }) => [member(input), input.until, sharedTiers(input.tiers)],
  schema: z.tuple([z.enum(['kept', 'lost'])]),
  read: ([kind]): KeepReply => ({ kind }),
});

export const releaseScript: Script<In<Claim & ReleaseInput>, ReleaseReply> = defineScript({
  name: 'release',
  source: sources.release,
  keys: ({ cell: { keys }, input }) => [
    keys.holders,
    keys.lock(input.dedupKey),
    keys.log,
    ...timesKeys(keys, input.tiers),
    ...tierKeys(keys, input.tiers),
  ],
  args: ({ cell, input }) => [
    nowOf(cell),
    member(input),
    input.id,
    input.nonce ?? '',
    input.permits,
    input.served === true ? 1 : 0,
    input.ended === undefined ? 0 : 1,
    input.ended?.pointerMs ?? 0,
  ],
  schema: z.tuple([z.enum(['released', 'gone'])]),
  read: ([kind]): ReleaseReply => ({ kind }),
});

export const aliveScript: Script<In<Claim & { nonce: string }>, AliveReply> = defineScript({
  name: 'alive',
  source: sources.alive,
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.holders, ...tierKeys(keys, input.tiers).slice(1, 2)],
  args: ({ cell, input }) => [nowOf(cell), member(input), input.nonce],
  schema: z.union([rebuilding, z.tuple([z.literal('gone')]), z.tuple([z.literal('alive'), moment])]),
  read: (raw): AliveReply => (raw[0] === 'alive' ? { kind: 'alive', lapses: toEpochMs(raw[1]) } : { kind: raw[0] }),
});

/** Service times of the task's pool and api, the two tiers that are everybody's. */
function timesKeys(keys: CellKeys, tiers: readonly Tier[]): string[] {
  return tiers.slice(0, 2).map((tier) => keys.times(tier));
}
