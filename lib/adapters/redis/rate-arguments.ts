import { rateFaults, rateForm, rateWindowMs } from '../../domain/rate-form.ts';
import type { RateAsk, RateNumbers, RateUse } from '../../domain/rates.ts';
import type { Cell } from './cell.ts';
import { hashOf, sevenBits } from './keys.ts';

/** A rule's numbers as `lua/include/rate-forms.lua` reads them; '' = off. */
export function formText(numbers: RateNumbers | undefined): string {
  if (numbers === undefined) return '';
  const { kind, a, b, c } = rateForm(numbers);
  return `${kind},${a},${b},${c}`;
}

/** Of a rule as configured, what is the same with each request. `text`: a, b and c. */
type Form = { readonly kind: string; readonly text: string } & Pick<RateUse, 'limit' | 'windowMs'>;
const off: Form = { kind: '-', text: sevenBits(0, 18), limit: 0, windowMs: 0 };
const known = new WeakMap<RateNumbers, Form>();

/** Throws a RangeError on numbers that no configuration may have: the scripts do not check them again. */
function formOf(numbers: RateNumbers | undefined): Form {
  if (numbers === undefined) return off;
  const before = known.get(numbers);
  if (before !== undefined) return before;
  const [fault] = rateFaults({ ...numbers }, 'numbers');
  if (fault !== undefined) throw new RangeError(`${fault.path}: ${fault.message}`);
  const { kind, a, b, c } = rateForm(numbers);
  const text = sevenBits(a, 5) + sevenBits(b, 8) + sevenBits(c, 5);
  const form = { kind: kind[0] ?? '', text, limit: a, windowMs: rateWindowMs(numbers) };
  known.set(numbers, form);
  return form;
}

const one = sevenBits(2, 5);

/** The rules as configured with what is asked of each, as `lua/include/rates.lua` takes them. An amount of -1 stands for none. */
export function rateArgument({ rates = {} }: Cell, asks: readonly RateAsk[]): string {
  let kinds = '';
  let numbers = '';
  for (const { rule, identity, amount } of asks) {
    if (!Number.isInteger(amount)) throw new RangeError(`expected a whole number, got ${amount}`);
    if (amount < -1 || amount >= 2 ** 31) throw new RangeError(`expected an amount of 31 bits, got ${amount}`);
    const { kind, text } = formOf(rates[rule]?.numbers);
    kinds += kind;
    numbers += text + (amount === 1 ? one : sevenBits(amount + 1, 5)) + hashOf(identity).text;
  }
  return kinds + numbers;
}

/** Of a rule that was not in force. */
const notInForce = -1;

/**
 * What `end_rates` wrote, from `numbers[from]` to the end: of each rule what is left and when all of it is there again, then index, limit and window of
 * those whose numbers are set live. Nothing at all stands for no rule in force. Throws a TypeError on anything else.
 */
export function rateUses(
  { rates = {} }: Cell,
  asks: readonly RateAsk[],
  numbers: readonly unknown[],
  from: number,
): RateUse[] {
  if (numbers.length === from) return [];
  const liveAt = from + 2 * asks.length;
  if (numbers.length < liveAt || (numbers.length - liveAt) % 3 !== 0)
    throw new TypeError(`expected two integers for each of ${asks.length} rules, then three for each that is set live`);
  const uses: RateUse[] = [];
  for (const [index, { rule }] of asks.entries()) {
    const at = from + 2 * index;
    if (numbers[at + 1] === notInForce) continue;
    const [remaining, resetMs] = [countAt(numbers, at), countAt(numbers, at + 1)];
    const { limit, windowMs } = liveForm(numbers, liveAt, index + 1) ?? formOf(rates[rule]?.numbers);
    uses.push({ rule, limit, windowMs, remaining, resetMs });
  }
  return uses;
}

function liveForm(numbers: readonly unknown[], liveAt: number, index: number) {
  for (let at = liveAt; at < numbers.length; at += 3) {
    if (numbers[at] === index) return { limit: countAt(numbers, at + 1), windowMs: countAt(numbers, at + 2) };
  }
  return undefined;
}

/** As `count` of a schema, which takes far longer for the numbers of five rules than Redis does. */
export function countAt(numbers: readonly unknown[], at: number): number {
  const number = numbers[at];
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new TypeError(`expected a whole number of 0 or more, got ${typeof number} ${number}`);
}

/** `index` counts from 1, as Lua does. */
export function ruleAt(asks: readonly RateAsk[], index: number): string {
  const ask = asks[index - 1];
  if (ask === undefined) throw new RangeError(`expected rule ${index} among ${asks.length}`);
  return ask.rule;
}
