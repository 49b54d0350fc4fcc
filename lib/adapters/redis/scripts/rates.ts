import * as z from 'zod';
import type { RateLimited, RateReply, SettleReply, TooCostly } from '../../../domain/gate-replies.ts';
import type { RateAsk } from '../../../domain/rates.ts';
import type { RateInput, SettleInput } from '../../../ports.ts';
import { type In, nowOf } from '../cell.ts';
import { rateArguments, rateNumbers, rateUses, ruleAt } from '../rate-arguments.ts';
import { defineScript, type Script } from '../script.ts';
import { sources } from '../sources.generated.ts';
import { count } from '../tier-arguments.ts';

export const limited = z.tuple([z.literal('limited'), count, count, count], count);

export function readLimited(asks: readonly RateAsk[], raw: z.output<typeof limited>): RateLimited {
  const [, index, retryAfterMs, limitsVersion, ...rest] = raw;
  const rates = rateUses(asks, rateNumbers.parse(rest));
  return { kind: 'rate_limited', short: ruleAt(asks, index), retryAfterMs, limitsVersion, rates };
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
  schema: z.union([limited, z.tuple([z.literal('passed'), count], count), z.tuple([z.literal('never'), count, count])]),
  read: (raw, { input }): RateReply => {
    switch (raw[0]) {
      case 'limited':
        return readLimited(input.asks, raw);
      case 'never':
        return readTooCostly(input.asks, raw);
      case 'passed': {
        const [, limitsVersion, ...rest] = raw;
        return { kind: 'passed', limitsVersion, rates: rateUses(input.asks, rateNumbers.parse(rest)) };
      }
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
