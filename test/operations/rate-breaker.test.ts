import { expect, test } from 'vitest';
import { RateBreaker } from '../../lib/operations/rate-breaker.ts';

test('opens at the third failure in a row, and after a second lets one ask at a time', () => {
  let now = 0;
  const breaker = new RateBreaker(() => now);
  const fail = () => {
    expect(breaker.allows()).toBe(true);
    breaker.failed();
  };
  fail();
  fail();
  breaker.answered();
  fail();
  fail();
  expect(breaker.allows()).toBe(true);
  breaker.failed();
  now = 999;
  expect(breaker.allows()).toBe(false);
  now = 1_000;
  expect([breaker.allows(), breaker.allows()]).toEqual([true, false]);
  breaker.failed();
  now = 1_999;
  expect(breaker.allows()).toBe(false);
  now = 2_000;
  expect(breaker.allows()).toBe(true);
  breaker.answered();
  expect([breaker.allows(), breaker.allows()]).toEqual([true, true]);
});
