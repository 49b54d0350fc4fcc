import * as z from 'zod';
import type { RateLimited, RateReply, SettleReply, TooCostly } from '../../../domain/gate-replies.ts';
import type { RateAsk } from '../../../domain/rates.ts';
import type { AdmitInput, RateInput, SettleInput } from '../../../ports.ts';
import { type In, nowOf } from '../cell.ts';
import { countAt, rateArgument, rateUses, ruleAt } from '../rate-arguments.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import { count, useNumber } from '../tier-arguments.ts';

export const limited = z.tuple([z.literal('limited'), count, count, count], useNumber);

export function readLimited(
  { cell, input: { rates: asks = [] } }: In<Pick<AdmitInput, 'rates'>>,
  raw: readonly unknown[],
): RateLimited {
  return {
    kind: 'rate_limited',
    short: ruleAt(asks, countAt(raw, 1)),
    retryAfterMs: countAt(raw, 2),
    limitsVersion: countAt(raw, 3),
    rates: rateUses(cell, asks, raw, 4),
  };
}

export function readTooCostly(asks: readonly RateAsk[], raw: readonly unknown[]): TooCostly {
  return { kind: 'too_costly', rule: ruleAt(asks, countAt(raw, 1)), limit: countAt(raw, 2) };
}

/** The letter and the numbers of a packed reply. */
function unpacked(raw: Buffer): [kind: string, ...numbers: number[]] {
  if (raw.length % 8 !== 1) throw new TypeError(`expected a letter and doubles, got ${raw.length} bytes`);
  const all: [string, ...number[]] = [String.fromCharCode(raw[0] ?? 0)];
  for (let at = 1; at < raw.length; at += 8) all.push(raw.readDoubleLE(at));
  return all;
}

export const rateScript: Script<In<RateInput>, RateReply> = defineScript({
  name: 'rate',
  source: sources.rate,
  once: true,
  packed: true,
  keys: ({ cell: { keys }, input }) => [keys.liveRates, ...input.asks.map(keys.rate)],
  args: ({ cell, input }) => [nowOf(cell), rateArgument(cell, input.asks)],
  schema: z.instanceof(Buffer),
  read: (packed, { cell, input: { asks } }): RateReply => {
    const raw = unpacked(packed);
    switch (raw[0]) {
      case 'p':
        return { kind: 'passed', rates: rateUses(cell, asks, raw, 1) };
      case 'l':
        return readLimited({ cell, input: { rates: asks } }, raw);
      case 'n':
        return readTooCostly(asks, raw);
      default:
        throw new TypeError(`expected p, l or n, got ${raw[0]}`);
    }
  },
});

/** Leaves a charge as it is. */
const asItIs = -1;

export const settleScript: Script<In<SettleInput>, SettleReply> = defineScript({
  name: 'settle',
  source: sources.settle,
  keys: ({ cell: { keys }, input }) => [keys.charges(input.id), keys.liveRates, ...input.charges.map(keys.rate)],
  args: ({ cell, input: { attempt, over, charges, amounts } }) => [
    nowOf(cell),
    attempt,
    over ? 1 : 0,
    rateArgument(
      cell,
      charges.map(({ rule, identity }) => ({ rule, identity, amount: amounts[rule] ?? asItIs })),
    ),
  ],
  schema: z.tuple([z.enum(['settled', 'gone', 'stale'])]),
  read: ([kind]): SettleReply => ({ kind }),
});
