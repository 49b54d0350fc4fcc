import { rateFaults, rateForm } from '../../domain/rate-form.ts';
import type { RateAsk, RateNumbers, RateUse } from '../../domain/rates.ts';
import type { Cell } from './cell.ts';
import { hashOf } from './keys.ts';

/** A rule's numbers as `lua/include/rate-forms.lua` reads them; '' = off. */
export function formText(numbers: RateNumbers | undefined): string {
  if (numbers === undefined) return '';
  const { kind, a, b, c } = rateForm(numbers);
  return `${kind},${a},${b},${c}`;
}

/** Of one rule, as `lua/include/rates.lua` unpacks it: the letter of its kind, a, b, c, amount and hash. */
const ruleBytes = 25;
const amountAt = 17;
const hashAt = 21;
const packedOff = Buffer.alloc(amountAt, '-');
const packedForms = new WeakMap<RateNumbers, Buffer>();

/** The part that is the same with each request. Throws a RangeError on numbers that no configuration may have: the scripts do not check them again. */
function packedForm(numbers: RateNumbers | undefined): Buffer {
  if (numbers === undefined) return packedOff;
  const before = packedForms.get(numbers);
  if (before !== undefined) return before;
  const [fault] = rateFaults({ ...numbers }, 'numbers');
  if (fault !== undefined) throw new RangeError(`${fault.path}: ${fault.message}`);
  const { kind, a, b, c } = rateForm(numbers);
  const packed = Buffer.alloc(amountAt);
  packed.write(kind[0] ?? '');
  packed.writeUInt32LE(a, 1);
  packed.writeBigUInt64LE(BigInt(b), 5);
  packed.writeUInt32LE(c, 13);
  packedForms.set(numbers, packed);
  return packed;
}

/** The rules as configured with what is asked of each, and their names, as `read_rules` takes them. An amount of -1 stands for none. */
export function rateArguments({ rates = {} }: Cell, asks: readonly RateAsk[]): [rules: Buffer, names: string] {
  const rules = Buffer.allocUnsafe(ruleBytes * asks.length);
  let names = '';
  let at = 0;
  for (const { rule, identity, amount } of asks) {
    if (!Number.isInteger(amount)) throw new RangeError(`expected a whole number, got ${amount}`);
    rules.set(packedForm(rates[rule]?.numbers), at);
    rules.writeInt32LE(amount, at + amountAt);
    rules.writeUInt32LE(hashOf(identity).number, at + hashAt);
    names += at === 0 ? rule : ` ${rule}`;
    at += ruleBytes;
  }
  return [rules, names];
}

const perRule = 5;

/** What `append_rates` wrote, from `numbers[from]` to the end. Throws a TypeError on anything else. */
export function rateUses(asks: readonly RateAsk[], numbers: readonly unknown[], from: number): RateUse[] {
  if ((numbers.length - from) % perRule !== 0) throw new TypeError('expected five integers a rule');
  const uses: RateUse[] = [];
  for (let at = from; at < numbers.length; at += perRule) {
    uses.push({
      rule: ruleAt(asks, countAt(numbers, at)),
      limit: countAt(numbers, at + 1),
      windowMs: countAt(numbers, at + 2),
      remaining: countAt(numbers, at + 3),
      resetMs: countAt(numbers, at + 4),
    });
  }
  return uses;
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
