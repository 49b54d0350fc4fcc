import * as z from 'zod';
import type {
  AcquireReply,
  AdmitReply,
  AliveReply,
  ConfirmReply,
  ExtendReply,
  KeepReply,
  Observation,
  PeekReply,
  ReleaseReply,
} from '../../domain/gate-replies.ts';
import { toTaskId } from '../../domain/task-id.ts';
import type { Limits, Tier } from '../../domain/tiers.ts';
import { type EpochMs, toEpochMs } from '../../domain/time.ts';
import type { AcquireInput, Claim, ReleaseInput } from '../../ports.ts';
import type { CellKeys } from './keys.ts';
import { defineScript, type Script } from './script.ts';
import { sources } from './sources.generated.ts';
import {
  count,
  expires,
  moment,
  tierArguments,
  tierKeys,
  tierUse,
  tierUses,
  use,
  useNumber,
  uses,
} from './tier-arguments.ts';

/** Where a script runs: the cell's names, the configured limits, and the moment where a test names one. */
export type Cell = {
  readonly keys: CellKeys;
  readonly limits: Limits;
  readonly lockMs: number;
  readonly startWindowMs: number;
  readonly now?: (() => EpochMs) | undefined;
};

type In<Input> = { readonly cell: Cell; readonly input: Input };

const duplicate = z.tuple([z.literal('duplicate'), z.enum(['creating', 'created']), z.string(), z.string()]);
const rebuilding = z.tuple([z.literal('rebuilding')]);

export const peekScript: Script<In<{ dedupKey: string | undefined; tiers: readonly Tier[] }>, PeekReply> = defineScript(
  {
    name: 'peek',
    source: sources.peek,
    keys: ({ cell: { keys }, input }) => [
      keys.limits,
      input.dedupKey === undefined ? keys.limits : keys.lock(input.dedupKey),
      ...tierKeys(keys, input.tiers),
    ],
    args: ({ cell, input }) => [
      nowOf(cell),
      input.dedupKey === undefined ? 0 : 1,
      ...tierArguments(cell.limits, input.tiers),
    ],
    schema: z.union([
      duplicate,
      rebuilding,
      z.tuple([z.literal('open')]),
      z.tuple([z.literal('full'), moment, count, count], useNumber),
    ]),
    read: (raw, { input }): PeekReply => {
      if (raw[0] === 'duplicate') return readDuplicate(raw);
      if (raw[0] === 'full') return { kind: 'full', ...readFull(raw.slice(1) as number[], input.tiers) };
      return { kind: raw[0] };
    },
  },
);

export type AdmitInput = Claim & { dedupKey: string; fingerprint: string; replaces?: Claim['id'] | undefined };

export const admitScript: Script<In<AdmitInput>, AdmitReply> = defineScript({
  name: 'admit',
  source: sources.admit,
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.lock(input.dedupKey), ...tierKeys(keys, input.tiers)],
  args: ({ cell, input }) => [
    nowOf(cell),
    input.id,
    member(input.tenant, input.id),
    input.fingerprint,
    input.replaces ?? '',
    input.replaces === undefined ? '' : member(input.tenant, input.replaces),
    cell.lockMs,
    cell.startWindowMs,
    input.permits,
    ...tierArguments(cell.limits, input.tiers),
  ],
  schema: z.union([
    duplicate,
    rebuilding,
    z.tuple([z.literal('never'), count, count]),
    z.tuple([z.literal('rejected'), moment, count, count], useNumber),
    z.tuple([z.literal('admitted'), moment, moment, count, count], useNumber),
  ]),
  read: (raw, { input }): AdmitReply => {
    switch (raw[0]) {
      case 'duplicate':
        return readDuplicate(raw);
      case 'rebuilding':
        return { kind: 'rebuilding' };
      case 'never':
        return { kind: 'never', tier: raw[1] - 1, limit: raw[2] };
      case 'rejected':
        return { kind: 'rejected', ...readFull(raw.slice(1) as number[], input.tiers) };
      case 'admitted': {
        const [, now, deadline, epoch, limitsVersion, ...rest] = raw;
        const tiers = tierUses(input.tiers, uses.parse(rest));
        return { kind: 'admitted', now: toEpochMs(now), deadline: toEpochMs(deadline), epoch, limitsVersion, tiers };
      }
    }
  },
});

export const confirmScript: Script<
  In<{ id: Claim['id']; dedupKey: string; fingerprint: string; pointerMs: number }>,
  ConfirmReply
> = defineScript({
  name: 'confirm',
  source: sources.confirm,
  keys: ({ cell, input }) => [cell.keys.lock(input.dedupKey)],
  args: ({ input }) => [input.id, input.fingerprint, input.pointerMs],
  schema: z.union([z.tuple([z.literal('confirmed')]), z.tuple([z.literal('other'), z.string()])]),
  read: (raw): ConfirmReply =>
    raw[0] === 'confirmed' ? { kind: 'confirmed' } : { kind: 'other', taskId: toTaskId(raw[1]) },
});

export const acquireScript: Script<In<Claim & AcquireInput>, AcquireReply> = defineScript({
  name: 'acquire',
  source: sources.acquire,
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.holders, ...tierKeys(keys, input.tiers)],
  args: ({ cell, input }) => [
    nowOf(cell),
    member(input.tenant, input.id),
    input.nonce,
    input.permits,
    input.leaseMs,
    input.deadline,
    input.seatMs,
    input.epoch,
    input.pool,
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
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.holders, ...tierKeys(keys, input.tiers)],
  args: ({ cell, input }) => [
    nowOf(cell),
    member(input.tenant, input.id),
    input.nonce,
    input.permits,
    input.leaseMs,
    ...input.tiers.map(expires),
  ],
  schema: z.union([rebuilding, z.tuple([z.literal('lost')]), z.tuple([z.enum(['extended', 'seatless']), moment])]),
  read: (raw): ExtendReply =>
    raw[0] === 'extended' || raw[0] === 'seatless' ? { kind: raw[0], lapses: toEpochMs(raw[1]) } : { kind: raw[0] },
});

export const keepScript: Script<In<Claim & { until: EpochMs }>, KeepReply> = defineScript({
  name: 'keep',
  source: sources.keep,
  keys: ({ cell: { keys }, input }) => tierKeys(keys, input.tiers),
  args: ({ input }) => [member(input.tenant, input.id), input.until, ...input.tiers.map(expires)],
  schema: z.tuple([z.enum(['kept', 'lost'])]),
  read: ([kind]): KeepReply => ({ kind }),
});

export const releaseScript: Script<In<Claim & ReleaseInput>, ReleaseReply> = defineScript({
  name: 'release',
  source: sources.release,
  keys: ({ cell: { keys }, input }) => [keys.holders, keys.lock(input.dedupKey), ...tierKeys(keys, input.tiers)],
  args: ({ input }) => [
    member(input.tenant, input.id),
    input.id,
    input.nonce ?? '',
    input.permits,
    input.ended === undefined ? 0 : 1,
    input.ended?.pointerMs ?? 0,
  ],
  schema: z.tuple([z.enum(['released', 'gone'])]),
  read: ([kind]): ReleaseReply => ({ kind }),
});

export const aliveScript: Script<In<Claim & { nonce: string }>, AliveReply> = defineScript({
  name: 'alive',
  source: sources.alive,
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.holders, ...tierKeys(keys, input.tiers)],
  args: ({ cell, input }) => [nowOf(cell), member(input.tenant, input.id), input.nonce],
  schema: z.union([rebuilding, z.tuple([z.literal('gone')]), z.tuple([z.literal('alive'), moment])]),
  read: (raw): AliveReply => (raw[0] === 'alive' ? { kind: 'alive', lapses: toEpochMs(raw[1]) } : { kind: raw[0] }),
});

export const observeScript: Script<In<readonly Tier[]>, Observation> = defineScript({
  name: 'observe',
  source: sources.observe,
  keys: ({ cell: { keys }, input }) => [keys.limits, ...tierKeys(keys, input)],
  args: ({ cell, input }) => [nowOf(cell), ...tierArguments(cell.limits, input)],
  schema: z.tuple([z.literal('observed'), moment, count, count], z.union([z.string(), z.int()])),
  read: ([, now, limitsVersion, , ...rest], { input }): Observation => ({
    now: toEpochMs(now),
    limitsVersion,
    tiers: input.map((tier, index) => {
      const part = rest.slice(index * 6, index * 6 + 6);
      const oldest = z.string().parse(part[5]);
      return {
        ...tierUse(tier, use.parse(part.slice(0, 4))),
        tasksRunning: count.parse(part[4]),
        ...(oldest === '' ? {} : { oldestWaiting: toTaskId(oldest.slice(oldest.lastIndexOf('|') + 1)) }),
      };
    }),
  }),
});

function nowOf(cell: Cell): string | number {
  return cell.now?.() ?? '';
}

function member(tenant: string, id: Claim['id']): string {
  return `${tenant}|${id}`;
}

function readDuplicate([, state, id, fingerprint]: z.output<typeof duplicate>) {
  return { kind: 'duplicate' as const, creating: state === 'creating', taskId: toTaskId(id), fingerprint };
}

function readFull([now, index, limitsVersion, ...rest]: number[], tiers: readonly Tier[]) {
  return {
    now: toEpochMs(now ?? Number.NaN),
    short: (index ?? 0) - 1,
    limitsVersion: limitsVersion ?? 0,
    tiers: tierUses(tiers, uses.parse(rest)),
  };
}
