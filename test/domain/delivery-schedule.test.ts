import { expect, test } from 'vitest';
import { mostDeliveryTries, nextTry } from '../../lib/domain/delivery-schedule.ts';
import { hour, minute, second } from '../../lib/domain/time.ts';

test.each([
  [1, 5 * second],
  [2, 30 * second],
  [3, 2 * minute],
  [4, 10 * minute],
  [5, 30 * minute],
  [6, 2 * hour],
  [7, 5 * hour],
  [8, 10 * hour],
])('after %i tries it waits %i ms, a tenth less or more', (tries, ms) => {
  expect(nextTry(tries, undefined, 0.5)).toEqual({ kind: 'again', afterMs: ms });
  expect(nextTry(tries, undefined, 0)).toEqual({ kind: 'again', afterMs: Math.round(0.9 * ms) });
  expect(nextTry(tries, undefined, 1)).toEqual({ kind: 'again', afterMs: Math.round(1.1 * ms) });
});

test('after the ninth try it is over, whatever the receiver asks for', () => {
  expect(mostDeliveryTries).toBe(9);
  expect(nextTry(9, undefined, 0.5)).toEqual({ kind: 'over' });
  expect(nextTry(9, 60_000, 0.5)).toEqual({ kind: 'over' });
});

test.each([
  [1, 60 * second, 60 * second],
  [3, 60 * second, 2 * minute],
  [1, 2 * hour, hour],
  [7, 2 * hour, 5 * hour],
])('after %i tries and a Retry-After of %i ms it waits %i ms', (tries, retryAfterMs, ms) => {
  expect(nextTry(tries, retryAfterMs, 0.5)).toEqual({ kind: 'again', afterMs: ms });
});

test('the longest wait fits into what SQS can make a message invisible for', () => {
  const next = nextTry(mostDeliveryTries - 1, undefined, 1);
  expect(next.kind === 'again' && next.afterMs).toBeLessThan(12 * hour);
});
