import { expect, test } from 'vitest';
import { rateFaults, rateForm } from '../../lib/domain/rate-form.ts';
import { asksOf, type RateNumbers, type RateRule, rulesOn } from '../../lib/domain/rates.ts';

test.each<[RateNumbers, ReturnType<typeof rateForm>]>([
  [
    { algorithm: 'fixed-window', limit: 20, periodMs: 60_000 },
    { kind: 'hashed', a: 20, b: 60_000, c: 0 },
  ],
  [
    { algorithm: 'fixed-window', limit: 20, periodMs: 60_000, calendar: true },
    { kind: 'calendar', a: 20, b: 60_000, c: 0 },
  ],
  [
    { algorithm: 'token-bucket', limit: 20, periodMs: 60_000 },
    { kind: 'bucket', a: 20, b: 1, c: 3_000 },
  ],
  [
    { algorithm: 'token-bucket', limit: 7, burst: 3, periodMs: 1_000 },
    { kind: 'bucket', a: 3, b: 7, c: 1_000 },
  ],
  [
    { algorithm: 'token-bucket', limit: 0, burst: 9, periodMs: 1_000 },
    { kind: 'quota', a: 9, b: 1_000, c: 0 },
  ],
  [
    { algorithm: 'gcra', limit: 20, periodMs: 60_000 },
    { kind: 'gcra', a: 20, b: 3_000_000, c: 0 },
  ],
  [
    { algorithm: 'gcra', limit: 7, burst: 2, periodMs: 1_000 },
    { kind: 'gcra', a: 2, b: 142_858, c: 0 },
  ],
])('%j', (numbers, form) => {
  expect(rateFaults({ ...numbers }, 'r')).toEqual([]);
  expect(rateForm(numbers)).toEqual(form);
});

test.each<[RateNumbers, string]>([
  // 2,000,000 · 2,678,400,000 is more than 2^52, though with a common divisor it would fit.
  [{ algorithm: 'token-bucket', limit: 1, burst: 2_000_000, periodMs: 2_678_400_000 }, 'below 2^52'],
  [{ algorithm: 'gcra', limit: 1, burst: 1_000, periodMs: 2_678_400_000 }, 'drains within'],
  [{ algorithm: 'gcra', limit: 1_100, periodMs: 100 }, 'at most ten a ms'],
  [{ algorithm: 'token-bucket', limit: 1, burst: 0, periodMs: 1 }, 'from 1 to'],
])('%j is more than whole numbers hold', (numbers, message) => {
  const [fault] = rateFaults({ ...numbers }, 'r');
  expect(fault?.message).toContain(message);
});

test('a common divisor of limit and period makes room', () => {
  const numbers = { algorithm: 'token-bucket', limit: 1_000, burst: 2_000_000, periodMs: 2_678_400_000 } as const;
  expect(rateFaults({ ...numbers }, 'r')).toEqual([]);
});

const rule = (name: string, over: Partial<RateRule>): RateRule => ({
  ...{ name, on: ['tasks'], identity: [], cost: 'requests', whenUnavailable: 'admit' },
  ...over,
});

test('rules guard their routes, and one rule on several of them is one budget', () => {
  const rules = {
    all: rule('all', {}),
    one: rule('one', { on: ['g/a'] }),
    both: rule('both', { on: ['g/a', 'g/b', 'hooks'] }),
    reads: rule('reads', { on: ['reads'] }),
  };
  const names = (...routes: string[]) => rulesOn(rules, ...routes).map(({ name }) => name);
  expect(names('tasks', 'g/a')).toEqual(['all', 'one', 'both']);
  expect(names('tasks', 'g/b')).toEqual(['all', 'both']);
  expect(names('reads')).toEqual(['reads']);
  expect(names('hooks')).toEqual(['both']);
  const asked = (api: string) => asksOf([rules.both], { tenant: 't', ip: '192.0.2.1', api }, {})[0];
  expect(asked('g/a')).toEqual(asked('g/b'));
});

test('an identity is told from every other, and an amount is what its cost says', () => {
  const identity = (over: Partial<RateRule>, asker: object) => asksOf([rule('r', over)], asker, { tokens: 7 })[0];
  const pair = { identity: ['tenant', 'api'] } as const;
  expect(identity(pair, { tenant: 'a', api: 'b/c' })).not.toEqual(identity(pair, { tenant: 'a","b', api: 'c' }));
  expect(identity({ cost: 'tokens' }, {})).toEqual({ rule: 'r', identity: '[]', amount: 7 });
  expect(identity({ cost: 'pages' }, {})).toMatchObject({ amount: 0 });
  expect(() => identity({ identity: ['source'] }, { tenant: 'a' })).toThrow('expected the source of a request');
});
