import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextRefusal, type Refusals, retryAfterMs, seatEveryMs } from '../../lib/domain/retry-after.ts';
import type { TaskTime } from '../../lib/domain/service-times.ts';
import { addMs, hour, toEpochMs } from '../../lib/domain/time.ts';

const now = toEpochMs(Date.UTC(2026, 0, 1));
const assumed = (meanMs: number): TaskTime => ({ kind: 'assumed', samples: 0, meanMs });

test.each([
  [60_000, 4, 15_000],
  [60_000, 0, 60_000],
  [3_000, 7, 428],
  [1, 50, 1],
])('tasks of %i ms on %i slots free a seat every %i ms', (meanMs, running, every) =>
  expect(seatEveryMs(assumed(meanMs), running)).toBe(every),
);

test.each<[string, Refusals | undefined, number, { count: number; at: number }]>([
  ['the first', undefined, 0, { count: 1, at: 0 }],
  ['one more in the same tick', { count: 10, at: now }, 0, { count: 11, at: 0 }],
  ['just before a seat frees', { count: 10, at: now }, 99, { count: 11, at: 0 }],
  ['as one frees', { count: 10, at: now }, 100, { count: 10, at: 100 }],
  ['a part of a seat is kept', { count: 10, at: now }, 250, { count: 9, at: 200 }],
  ['all have gone', { count: 10, at: now }, 1_000, { count: 1, at: 1_000 }],
  ['all have gone, and half a seat', { count: 10, at: now }, 1_050, { count: 1, at: 1_050 }],
  ['long ago', { count: 10, at: now }, 86_400_000, { count: 1, at: 86_400_000 }],
  ['a clock that stepped back', { count: 10, at: addMs(now, 5_000) }, 0, { count: 11, at: 0 }],
  ['past an hour of seats', { count: 36_000, at: now }, 0, { count: 36_000, at: 0 }],
])('one seat every 100 ms, %s', (_what, state, later, { count, at }) => {
  const next = nextRefusal(state, addMs(now, later), 100);
  expect(next).toEqual({ state: { count, at: now + at }, k: count });
});

test('whatever comes, the count is whole, at least 1, and at most one more than before', () => {
  const step = fc.tuple(fc.integer({ min: -5_000, max: 200_000 }), fc.integer({ min: 1, max: 900_000 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      let state: Refusals | undefined;
      let clock = now;
      for (const [later, every] of steps) {
        clock = addMs(clock, later);
        const next = nextRefusal(state, clock, every);
        expect(Number.isSafeInteger(next.k)).toBe(true);
        expect(next.k).toBeGreaterThanOrEqual(1);
        expect(next.k).toBeLessThanOrEqual((state?.count ?? 0) + 1);
        expect(next.state.at).toBeLessThanOrEqual(clock);
        state = next.state;
      }
    }),
  );
});

test('refusals at the pace seats free leave the count where it is, at any pace', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30_000 }), fc.integer({ min: 1, max: 50 }), (every, count) => {
      let state: Refusals = { count, at: now };
      for (let turn = 1; turn <= 100; turn++) {
        // Asked at moments that are no multiple of the pace, as they are.
        state = nextRefusal(state, addMs(now, Math.floor((turn + 0.5) * every)), every).state;
      }
      expect(state.count).toBe(count);
    }),
  );
});

test.each([
  [60_000, 1, 4, 16_000, 19_200],
  [60_000, 3, 4, 46_000, 55_200],
  [50, 1, 50, 1_001, 1_202],
  [900_000, 500, 1, 3_000_000, 3_600_000],
  [60_000, 1, 0, 61_000, 73_200],
])(
  'tasks of %i ms, number %i of the refused, %i slots: come back in %i to %i ms',
  (meanMs, k, running, least, most) => {
    const wait = (index: number) => retryAfterMs(assumed(meanMs), { k, running, client: `client ${index}` });
    const waits = Array.from({ length: 300 }, (_, index) => wait(index));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(least);
    expect(Math.max(...waits)).toBeLessThanOrEqual(most);
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(0.9 * (most - least));
    expect(wait(1)).toBe(waits[1]);
  },
);

test('between 1 s and 1 h, and for one client never sooner with more before it', () => {
  const task = fc.integer({ min: 1, max: 900_000 }).map(assumed);
  fc.assert(
    fc.property(task, fc.nat(300), fc.integer({ min: 1, max: 1_000_000 }), fc.string(), (of, running, k, client) => {
      const waitMs = retryAfterMs(of, { k, running, client });
      expect(waitMs).toBeGreaterThanOrEqual(1_000);
      expect(waitMs).toBeLessThanOrEqual(hour);
      expect(Number.isSafeInteger(waitMs)).toBe(true);
      expect(retryAfterMs(of, { k: k + 1, running, client })).toBeGreaterThanOrEqual(waitMs);
    }),
  );
});
