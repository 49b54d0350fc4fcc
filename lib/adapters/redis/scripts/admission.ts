import * as z from 'zod';
import type { AdmitReply, ConfirmReply, PeekReply } from '../../../domain/gate-replies.ts';
import { toTaskId } from '../../../domain/task-id.ts';
import type { Tier } from '../../../domain/tiers.ts';
import { toEpochMs } from '../../../domain/time.ts';
import type { AdmitInput, ConfirmInput, PeekInput, RefuseInput } from '../../../ports.ts';
import { type In, logNames, member, nowOf } from '../cell.ts';
import { rateArgument, rateUses } from '../rate-arguments.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import {
  count,
  moment,
  packed,
  sharedTiers,
  tierArguments,
  tierKeys,
  tierUses,
  useNumber,
  uses,
} from '../tier-arguments.ts';
import { limited, readLimited, readTooCostly } from './rates.ts';

const duplicate = z.tuple([z.literal('duplicate'), z.enum(['creating', 'created']), z.string(), z.string()]);
const rebuilding = z.tuple([z.literal('rebuilding')]);
const paused = z.tuple([z.literal('paused')]);

export const peekScript: Script<In<PeekInput>, PeekReply> = defineScript({
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
    z.tuple([...duplicate.def.items, moment]),
    rebuilding,
    paused,
    z.tuple([z.literal('open'), moment]),
    z.tuple([z.literal('full'), moment, count, count], useNumber),
  ]),
  read: (raw, { input }): PeekReply => {
    if (raw[0] === 'duplicate') {
      const [kind, state, id, fingerprint, now] = raw;
      return { ...readDuplicate([kind, state, id, fingerprint]), now: toEpochMs(now) };
    }
    if (raw[0] === 'open') return { kind: 'open', now: toEpochMs(raw[1]) };
    if (raw[0] === 'full') return { kind: 'full', ...readFull(raw.slice(1) as number[], input.tiers) };
    return { kind: raw[0] };
  },
});

/** As `mostAhead`: behind however many. */
const anyNumber = 2 ** 31 - 1;

export const admitScript: Script<In<AdmitInput>, AdmitReply> = defineScript({
  name: 'admit',
  source: sources.admit,
  keys: ({ cell: { keys }, input }) => [
    keys.limits,
    keys.lock(input.dedupKey),
    keys.log,
    ...tierKeys(keys, input.tiers),
    ...(hasRates(input) ? [keys.charges(input.id), keys.liveRates, ...input.rates.map(keys.rate)] : []),
  ],
  args: ({ cell, input }) => [
    nowOf(cell),
    input.id,
    member(input),
    input.fingerprint,
    input.replaces ?? '',
    input.replaces === undefined ? '' : member({ ...input, id: input.replaces }),
    logNames(cell.keys, input.tiers),
    packed([cell.lockMs, cell.startWindowMs, input.permits, input.mostAhead ?? anyNumber, sharedTiers(input.tiers)]),
    input.notAfter ?? '',
    ...tierArguments(cell.limits, input.tiers),
    ...(hasRates(input) ? [rateArgument(cell, input.rates)] : []),
  ],
  schema: z.union([
    z.tuple([z.literal('admitted'), moment, moment, count, count], useNumber),
    duplicate,
    rebuilding,
    paused,
    z.tuple([z.literal('stale')]),
    limited,
    z.tuple([z.literal('never'), count, count]),
    z.tuple([z.literal('too_costly'), count, count]),
    z.tuple([z.literal('rejected'), moment, count, count], useNumber),
    z.tuple([z.literal('behind'), moment, count, count], useNumber),
  ]),
  read: (raw, given): AdmitReply => {
    const { input } = given;
    switch (raw[0]) {
      case 'duplicate':
        return readDuplicate(raw);
      case 'rebuilding':
      case 'paused':
      case 'stale':
        return { kind: raw[0] };
      case 'never':
        return { kind: 'never', tier: raw[1] - 1, limit: raw[2] };
      case 'limited':
        return readLimited(given, raw);
      case 'too_costly':
        return readTooCostly(input.rates ?? [], raw);
      case 'rejected': {
        const [, now, index, limitsVersion, ...rest] = raw;
        return {
          ...{ kind: 'rejected', now: toEpochMs(now), short: index - 1, limitsVersion },
          ...readUses(given, rest),
        };
      }
      case 'behind': {
        const [, now, ahead, limitsVersion, ...rest] = raw;
        return { kind: 'behind', now: toEpochMs(now), ahead, limitsVersion, ...readUses(given, rest) };
      }
      case 'admitted': {
        const [, now, deadline, epoch, limitsVersion, ...rest] = raw;
        return {
          ...{ kind: 'admitted', now: toEpochMs(now), deadline: toEpochMs(deadline), epoch, limitsVersion },
          ...readUses(given, rest),
        };
      }
    }
  },
});

export const confirmScript: Script<In<ConfirmInput>, ConfirmReply> = defineScript({
  name: 'confirm',
  source: sources.confirm,
  keys: ({ cell, input }) => [cell.keys.lock(input.dedupKey)],
  args: ({ cell, input }) => [input.id, input.fingerprint, cell.pointerMs],
  schema: z.union([z.tuple([z.literal('confirmed')]), z.tuple([z.literal('other'), z.string()])]),
  read: (raw): ConfirmReply =>
    raw[0] === 'confirmed' ? { kind: 'confirmed' } : { kind: 'other', taskId: toTaskId(raw[1]) },
});

function readDuplicate([, state, id, fingerprint]: z.output<typeof duplicate>) {
  return { kind: 'duplicate' as const, creating: state === 'creating', taskId: toTaskId(id), fingerprint };
}

function hasRates(input: AdmitInput): input is AdmitInput & { readonly rates: NonNullable<AdmitInput['rates']> } {
  return input.rates !== undefined && input.rates.length > 0;
}

/** The uses of every tier, then those of the rules. */
function readUses({ cell, input: { tiers, rates = [] } }: In<AdmitInput>, numbers: readonly number[]) {
  const end = 4 * tiers.length;
  return {
    tiers: tierUses(tiers, uses.parse(numbers.slice(0, end))),
    rates: rateUses(cell, rates, numbers, end),
  };
}

function readFull([now, index, limitsVersion, ...rest]: number[], tiers: readonly Tier[]) {
  return {
    now: toEpochMs(now ?? Number.NaN),
    short: (index ?? 0) - 1,
    limitsVersion: limitsVersion ?? 0,
    tiers: tierUses(tiers, uses.parse(rest)),
  };
}

export const refuseScript: Script<In<RefuseInput>, { readonly k: number }> = defineScript({
  name: 'refuse',
  source: sources.refuse,
  keys: ({ cell, input }) => [cell.keys.refusals(input.tier)],
  args: ({ cell, input }) => [nowOf(cell), input.everyMs],
  schema: z.tuple([z.literal('refused'), count]),
  read: ([, k]) => ({ k }),
});
