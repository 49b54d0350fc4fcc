import * as z from 'zod';
import { rateForm } from '../../domain/rate-form.ts';
import type { RateAsk, RateNumbers, RateUse } from '../../domain/rates.ts';
import type { Cell } from './cell.ts';
import { hash31 } from './keys.ts';
import { count, packed } from './tier-arguments.ts';

/** A rule's numbers as `lua/include/rate-forms.lua` reads them; '' = off. */
export function formText(numbers: RateNumbers | undefined): string {
  if (numbers === undefined) return '';
  const { kind, a, b, c } = rateForm(numbers);
  return `${kind},${a},${b},${c}`;
}

/** The rules as configured, and what is asked of each, as `read_rules` takes them. An amount of -1 stands for none. */
export function rateArguments({ rates = {} }: Cell, asks: readonly RateAsk[]): [rules: string, asks: Buffer] {
  const words = asks.map(({ rule }) => `${rule}=${formText(rates[rule]?.numbers)}`);
  return [words.join(' '), packed(asks.flatMap(({ amount, identity }) => [amount, hash31(identity)]))];
}

const perRule = 5;

/** What `append_rates` writes. */
export const rateNumbers = z
  .array(count)
  .refine((numbers) => numbers.length % perRule === 0, 'expected five integers a rule');

export function rateUses(asks: readonly RateAsk[], numbers: readonly number[]): RateUse[] {
  const uses: RateUse[] = [];
  for (let at = 0; at < numbers.length; at += perRule) {
    const [index = 0, limit = 0, windowMs = 0, remaining = 0, resetMs = 0] = numbers.slice(at, at + perRule);
    uses.push({ rule: ruleAt(asks, index), limit, windowMs, remaining, resetMs });
  }
  return uses;
}

/** `index` counts from 1, as Lua does. */
export function ruleAt(asks: readonly RateAsk[], index: number): string {
  const ask = asks[index - 1];
  if (ask === undefined) throw new RangeError(`expected rule ${index} among ${asks.length}`);
  return ask.rule;
}
