import * as z from 'zod';
import type { RateLimited, RateReply, SettleReply, TooCostly } from '../../../domain/gate-replies.ts';
import type { RateAsk } from '../../../domain/rates.ts';
import type { RateInput, SettleInput } from '../../../ports.ts';
import { type In, nowOf } from '../cell.ts';
import { countAt, rateArguments, rateUses, ruleAt } from '../rate-arguments.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import { count } from '../tier-arguments.ts';

export const limited = z.tuple([z.literal('limited'), count, count, count], count);

const never = z.tuple([z.literal('never'), count, count]);

export function readLimited(asks: readonly RateAsk[], raw: z.output<typeof limited>): RateLimited {
  const [, index, retryAfterMs, limitsVersion] = raw;
  return {
    kind: 'rate_limited',
    short: ruleAt(asks, index),
    retryAfterMs,
    limitsVersion,
    rates: rateUses(asks, raw, 4),
  };
}

export function readTooCostly(
  asks: readonly RateAsk[],
  [, index, limit]: readonly [string, number, number],
): TooCostly {
  return { kind: 'too_costly', rule: ruleAt(asks, index), limit };
}

export const rateScript: Script<In<RateInput>, RateReply> = defineScript({
  name: 'rate',
  source: sources.rate,
  once: true,
  keys: ({ cell: { keys }, input }) => [keys.limits, ...input.asks.map(keys.rate)],
  args: ({ cell, input }) => [nowOf(cell), ...rateArguments(cell, input.asks)],
  schema: z.array(z.unknown()),
  read: (raw, { input: { asks } }): RateReply => {
    switch (raw[0]) {
      case 'limited':
        return readLimited(asks, limited.parse(raw));
      case 'never':
        return readTooCostly(asks, never.parse(raw));
      case 'passed':
        return { kind: 'passed', limitsVersion: countAt(raw, 1), rates: rateUses(asks, raw, 2) };
      default:
        throw new TypeError(`expected passed, limited or never, got ${raw[0]}`);
    }
  },
});

/** Leaves a charge as it is. */
const asItIs = -1;

export const settleScript: Script<In<SettleInput>, SettleReply> = defineScript({
  name: 'settle',
  source: sources.settle,
  keys: ({ cell: { keys }, input }) => [keys.limits, keys.charges(input.id), ...input.charges.map(keys.rate)],
  args: ({ cell, input: { attempt, over, charges, amounts } }) => [
    nowOf(cell),
    attempt,
    over ? 1 : 0,
    ...rateArguments(
      cell,
      charges.map(({ rule, identity }) => ({ rule, identity, amount: amounts[rule] ?? asItIs })),
    ),
  ],
  schema: z.tuple([z.enum(['settled', 'gone', 'stale'])]),
  read: ([kind]): SettleReply => ({ kind }),
});
