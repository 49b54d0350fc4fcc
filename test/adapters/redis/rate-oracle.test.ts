import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RateNumbers } from '../../../lib/domain/rates.ts';
import { random } from '../../protocol/random.ts';
import { askAll, type Request, rateServer } from '../../support/rates.ts';

/** A token bucket in whole numbers of any size: a token is `periodMs` units, `limit` units come each ms. */
class Bucket {
  readonly #numbers: Required<Pick<RateNumbers, 'limit' | 'periodMs' | 'burst'>>;
  #level: bigint;
  #at: number;

  constructor(numbers: Required<Pick<RateNumbers, 'limit' | 'periodMs' | 'burst'>>, now: number) {
    this.#numbers = numbers;
    this.#at = now;
    this.#level = BigInt(numbers.burst) * BigInt(numbers.periodMs);
  }

  ask(now: number, amount: number) {
    const [limit, period] = [BigInt(this.#numbers.limit), BigInt(this.#numbers.periodMs)];
    const burst = BigInt(this.#numbers.burst);
    if (BigInt(amount) > burst) return { kind: 'too_costly' };
    const full = burst * period;
    const refilled = this.#level + BigInt(Math.max(0, now - this.#at)) * limit;
    const level = refilled > full ? full : refilled;
    const lacking = BigInt(amount) * period - level;
    if (lacking > 0n) return { kind: 'rate_limited', retryAfterMs: Number((lacking + limit - 1n) / limit) };
    const left = level - BigInt(amount) * period;
    // What costs nothing leaves no trace.
    if (amount > 0) [this.#level, this.#at] = [left, now];
    return { kind: 'passed', remaining: Number(left / period) };
  }
}

const buckets = [
  { limit: 20, periodMs: 60_000, burst: 20 },
  { limit: 7, periodMs: 1_000, burst: 3 },
  { limit: 999_983, periodMs: 60_000, burst: 1_000_000 },
  // As large as they may be: burst · period just below 2^52.
  { limit: 1, periodMs: 2_678_400_000, burst: 1_681_000 },
  { limit: 1_000_000_000, periodMs: 2_678_399_999, burst: 1_681_000 },
];

test('a token bucket decides as whole numbers of any size do, 100,000 times', async () => {
  const redis = rateServer();
  let mismatches = 0;
  const kinds = new Set<string>();
  for (const [index, numbers] of buckets.entries()) {
    const { pick, chance, next } = random(index);
    const perTokenMs = Math.max(1, Math.ceil(numbers.periodMs / numbers.limit));
    const requests = Array.from({ length: 20_000 }, (): Request => {
      const amount = pick([0, 1, 1, 2, 3, numbers.burst, numbers.burst + 1, Math.ceil(next() * numbers.burst)]);
      const afterMs = pick([0, 1, perTokenMs - 1, perTokenMs, Math.floor(next() * 3 * perTokenMs * pick([1, amount]))]);
      // A clock steps back now and then; a moment stays one that Weir knows.
      return {
        amount,
        afterMs: chance(0.02) ? -Math.floor(next() * Math.min(60_000, perTokenMs)) : Math.min(afterMs, 40_000_000),
      };
    });
    const answers = await askAll(redis, { algorithm: 'token-bucket', ...numbers }, requests);
    const oracle = new Bucket(numbers, answers[0]?.at ?? 0);
    for (const { at, amount, reply } of answers) {
      const expected = oracle.ask(at, amount);
      const remaining = reply.kind === 'passed' ? { remaining: reply.rates[0]?.remaining } : {};
      const wait = reply.kind === 'rate_limited' ? { retryAfterMs: reply.retryAfterMs } : {};
      const actual = { kind: reply.kind, ...remaining, ...wait };
      if (JSON.stringify(actual) !== JSON.stringify(expected)) mismatches++;
      kinds.add(reply.kind);
    }
  }
  expect(mismatches).toBe(0);
  expect(kinds.size).toBe(3);
});

const numbersOf = fc.record({
  limit: fc.integer({ min: 1, max: 9 }),
  burst: fc.integer({ min: 1, max: 9 }),
  periodMs: fc.integer({ min: 7, max: 2_000 }),
});
const schedule = fc.array(
  fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), amount: fc.integer({ min: 0, max: 4 }) }),
  { minLength: 1, maxLength: 120 },
);
type Numbers = { readonly limit: number; readonly burst: number; readonly periodMs: number };

/** The most that docs/limits.md lets any window of `ms` have. */
const windows = (limit: number, periodMs: number) => (ms: number) => limit * (Math.ceil(ms / periodMs) + 1);
const bucket =
  ({ limit, burst, periodMs }: Numbers) =>
  (ms: number) =>
    burst + Math.floor((ms * limit) / periodMs);
const algorithms: [string, (numbers: Numbers) => { numbers: RateNumbers; most(ms: number): number }][] = [
  [
    'fixed-window',
    ({ limit, periodMs }) => ({
      numbers: { algorithm: 'fixed-window', limit, periodMs },
      most: windows(limit, periodMs),
    }),
  ],
  [
    'quota',
    ({ burst, periodMs }) => ({
      numbers: { algorithm: 'token-bucket', limit: 0, burst, periodMs },
      most: windows(burst, periodMs),
    }),
  ],
  ['token-bucket', (all) => ({ numbers: { algorithm: 'token-bucket', ...all }, most: bucket(all) })],
  ['gcra', (all) => ({ numbers: { algorithm: 'gcra', ...all }, most: bucket(all) })],
];

test.each(algorithms)('%s: no window of any schedule has more than its bound', async (_name, make) => {
  const redis = rateServer();
  await fc.assert(
    fc.asyncProperty(numbersOf, schedule, async (all, requests) => {
      const { numbers, most } = make(all);
      const admitted = (await askAll(redis, numbers, requests)).filter(({ reply }) => reply.kind === 'passed');
      for (const [first, { at: from }] of admitted.entries()) {
        let sum = 0;
        for (const { at, amount } of admitted.slice(first)) {
          sum += amount;
          if (sum > most(at - from)) return false;
        }
      }
      return true;
    }),
    { numRuns: 300, seed: 1 },
  );
});

test.each(algorithms)(
  '%s: who waits as long as told is let through, and a millisecond earlier is not',
  async (_name, make) => {
    const redis = rateServer();
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(numbersOf, schedule, async (all, requests) => {
        const { numbers } = make(all);
        const last = (await askAll(redis, numbers, requests)).at(-1);
        if (last?.reply.kind !== 'rate_limited') return true;
        refused++;
        const { retryAfterMs } = last.reply;
        const waited = async (ms: number) => {
          const again = [...requests, { afterMs: ms, amount: last.amount }];
          const from = last.at - requests.reduce((sum, { afterMs }) => sum + afterMs, 0);
          return (await askAll(redis, numbers, again, from as typeof last.at)).at(-1)?.reply.kind;
        };
        const early = retryAfterMs > 1 ? await waited(retryAfterMs - 1) : 'rate_limited';
        return early === 'rate_limited' && (await waited(retryAfterMs)) === 'passed';
      }),
      { numRuns: 300, seed: 2 },
    );
    expect(refused).toBeGreaterThan(15);
  },
);
