import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Eta, eta, mostAhead } from '../../lib/domain/eta.ts';
import { bucketOf, buckets, type TaskTime, taskTime } from '../../lib/domain/service-times.ts';

const assumed: TaskTime = { kind: 'assumed', samples: 3, meanMs: 60_000 };
const even: TaskTime = {
  kind: 'measured',
  samples: 200,
  meanMs: 10_000,
  variance: 1_000_000 / 3,
  restMs: 5_000 + 1_000_000 / 60_000,
  restVariance: 8_500_000,
};

/** Any histogram of at least 20 samples, also ones with a few very long tasks. */
const measured = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 900_000 }), fc.integer({ min: 1, max: 150 })), {
    minLength: 1,
    maxLength: 8,
  })
  .map((groups) => {
    const counts = Array.from({ length: buckets }, () => 0);
    let totalMs = 0;
    for (const [ms, count] of [...groups, [groups[0]?.[0] ?? 1, 20] as const]) {
      counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + count;
      totalMs += ms * count;
    }
    return taskTime({ counts, totalMs }, 1);
  });
const anyTask = fc.oneof(
  { weight: 4, arbitrary: measured },
  fc.integer({ min: 1, max: 900_000 }).map((meanMs): TaskTime => ({ kind: 'assumed', samples: 0, meanMs })),
);
const slots = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 }));

function known(answer: Eta): { p50: number; p90: number } {
  if (answer.kind === 'unknown') throw new Error('expected a time');
  return answer;
}

test('the example of its docstring', () => {
  const { p50, p90 } = known(eta(even, { position: 8, running: 4 }));
  expect(p50).toBeCloseTo(20_470, -2);
  expect(p90).toBeCloseTo(23_970, -2);
});

test.each<[string, TaskTime, { position: number; running: number; inUse?: number }, Eta]>([
  ['assumed tasks end evenly', assumed, { position: 3, running: 4 }, { kind: 'assumed', p50: 45_000, p90: 45_000 }],
  ['a free slot is for now', even, { position: 1, running: 4, inUse: 3 }, { kind: 'measured', p50: 0, p90: 0 }],
  ['so is the last of three', even, { position: 3, running: 4, inUse: 1 }, { kind: 'measured', p50: 0, p90: 0 }],
  ['closed', even, { position: 1, running: 0 }, { kind: 'unknown' }],
  ['closed and still in use', assumed, { position: 1, running: 0, inUse: 4 }, { kind: 'unknown' }],
])('%s', (_what, task, line, answer) => expect(eta(task, line)).toEqual(answer));

test('free slots are taken by those ahead, and slots in use above a lowered limit are waited for', () => {
  expect(eta(even, { position: 5, running: 4, inUse: 1 })).toEqual(eta(even, { position: 2, running: 4 }));
  expect(eta(even, { position: 1, running: 4, inUse: 7 })).toEqual(eta(even, { position: 4, running: 4 }));
});

test('p50 and p90 are whole and finite, p90 is the later, and both grow with the position', () => {
  fc.assert(
    fc.property(
      anyTask,
      slots,
      fc.integer({ min: 1, max: 600 }),
      fc.nat(10_000),
      (task, running, position, further) => {
        const here = known(eta(task, { position, running }));
        expect(here.p90).toBeGreaterThanOrEqual(here.p50);
        expect(here.p50).toBeGreaterThan(0);
        expect(Number.isSafeInteger(here.p90)).toBe(true);
        for (const next of [position + 1, position + 1 + further]) {
          const there = known(eta(task, { position: next, running }));
          expect(there.p50).toBeGreaterThanOrEqual(here.p50);
          expect(there.p90).toBeGreaterThanOrEqual(here.p90);
        }
      },
    ),
    { numRuns: 3_000, seed: 1 },
  );
});

test('a task is refused at the door for exactly the positions whose p90 is beyond what it would wait', () => {
  fc.assert(
    fc.property(anyTask, slots, fc.nat(320), fc.nat(3_600_000), (task, running, inUse, maxWaitMs) => {
      const most = mostAhead(task, { running, inUse }, maxWaitMs);
      expect(most).toBeGreaterThanOrEqual(Math.max(0, running - inUse));
      if (most > 0) expect(known(eta(task, { position: most, running, inUse })).p90).toBeLessThanOrEqual(maxWaitMs);
      if (most < 1_000_000) {
        expect(known(eta(task, { position: most + 1, running, inUse })).p90).toBeGreaterThan(maxWaitMs);
      }
    }),
    { numRuns: 500, seed: 1 },
  );
});

test('who would wait 0 ms takes a free slot or none; of a closed pool nobody is told a time', () => {
  expect(mostAhead(even, { running: 4 }, 0)).toBe(0);
  expect(mostAhead(even, { running: 4, inUse: 1 }, 0)).toBe(3);
  expect(mostAhead(even, { running: 0 }, 3_600_000)).toBe(0);
});

test('position 10,000 costs what position 1 does, and little', () => {
  const started = performance.now();
  for (let turn = 0; turn < 1_000; turn++) eta(even, { position: 10_000, running: 4 });
  expect((performance.now() - started) / 1_000).toBeLessThan(0.2);
});
