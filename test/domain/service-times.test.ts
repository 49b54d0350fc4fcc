import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bucketOf,
  buckets,
  fewestSamples,
  mean,
  quantile,
  type ServiceTimes,
  samples,
  taskTime,
  variance,
} from '../../lib/domain/service-times.ts';
import { Histogram, lognormal, randomOf, recorded } from './pool-simulation.ts';

test.each([
  [0, 0],
  [1, 0],
  [14, 0],
  [15, 1],
  [19, 1],
  [20, 2],
  [28, 2],
  [29, 3],
  [39, 3],
  [40, 4],
  [79, 5],
  [80, 6],
  [1_000, 13],
  [655_359, 31],
  [655_360, 32],
  [926_819, 32],
  [926_820, 33],
  [1_000_000_000_000, 33],
])('%i ms falls into bucket %i', (ms, bucket) => expect(bucketOf(ms)).toBe(bucket));

test('a bucket is what its formula says, away from the edges where logarithms round', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000_000 }), (ms) => {
      const exact = 2 * Math.log2(ms / 10);
      fc.pre(Math.abs(exact - Math.round(exact)) > 1e-9);
      expect(bucketOf(ms)).toBe(Math.min(buckets - 1, Math.max(0, Math.floor(exact))));
    }),
  );
});

function timesOf(list: readonly number[]): ServiceTimes {
  const times = new Histogram(Number.POSITIVE_INFINITY);
  for (const ms of list) times.record(ms);
  return times;
}

test('the mean is exact, and variance and quantiles are of the width of a bucket', () => {
  const random = randomOf(1);
  const service = lognormal(3_000, 1);
  const list = Array.from({ length: 20_000 }, () => Math.round(service(random, 0)));
  const times = timesOf(list);
  const exactMean = list.reduce((sum, ms) => sum + ms, 0) / list.length;
  const exactVariance = list.reduce((sum, ms) => sum + (ms - exactMean) ** 2, 0) / list.length;
  expect(samples(times)).toBe(20_000);
  expect(mean(times)).toBeCloseTo(exactMean, 6);
  expect(variance(times) / exactVariance).toBeGreaterThan(0.9);
  expect(variance(times) / exactVariance).toBeLessThan(1.1);
  const sorted = list.sort((one, other) => one - other);
  for (const q of [0.05, 0.5, 0.9, 0.99]) {
    const ratio = quantile(times, q) / (sorted[q * 20_000] ?? 0);
    expect(ratio).toBeGreaterThan(0.92);
    expect(ratio).toBeLessThan(1.08);
  }
});

test('tasks that all take alike have their exact mean wherever in a bucket they lie, and little variance', () => {
  for (const ms of [1, 14, 906, 1_000, 1_279, 900_000]) {
    const times = timesOf(Array.from({ length: 50 }, () => ms));
    expect(mean(times)).toBe(ms);
    if (ms > 14) expect(Math.sqrt(variance(times)) / ms).toBeLessThan(0.11);
  }
});

test('what is left of a task found running: half of one of many alike, far more than the mean where few are long', () => {
  const alike = taskTime(timesOf(Array.from({ length: 100 }, () => 10_000)), 1);
  const mixed = taskTime(timesOf(Array.from({ length: 100 }, (_, index) => (index < 90 ? 1_000 : 50_000))), 1);
  expect(alike.kind === 'measured' && alike.restMs).toBeCloseTo(5_000, -2);
  // E[S²] / 2E[S] = (0.9 · 1² + 0.1 · 50²) / (2 · 5.9) s
  expect(mixed.kind === 'measured' && Math.abs(mixed.restMs / 21_262 - 1)).toBeLessThan(0.1);
});

test('before 20 samples the timeout is assumed, and said to be', () => {
  const of = (count: number) => taskTime(timesOf(Array.from({ length: count }, () => 500)), 60_000);
  expect(of(fewestSamples - 1)).toEqual({ kind: 'assumed', samples: 19, meanMs: 60_000 });
  expect(of(fewestSamples)).toMatchObject({ kind: 'measured', samples: 20, meanMs: 500 });
  expect(taskTime({ counts: [], totalMs: 0 }, 60_000)).toEqual({ kind: 'assumed', samples: 0, meanMs: 60_000 });
});

test('nothing and tasks that take no time give numbers', () => {
  expect(quantile({ counts: [], totalMs: 0 }, 0.9)).toBe(0);
  expect(mean({ counts: [], totalMs: 0 })).toBe(1);
  expect(taskTime({ counts: [30], totalMs: 0 }, 1)).toMatchObject({ kind: 'measured', meanMs: 1 });
});

test('quantiles grow with the share, for any counts', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(50), { maxLength: buckets }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (counts, one, other) => {
        const times = { counts, totalMs: 1_000 * counts.reduce((sum, count) => sum + count, 0) };
        const [lower, higher] = [quantile(times, Math.min(one, other)), quantile(times, Math.max(one, other))];
        expect(lower).toBeGreaterThanOrEqual(0);
        expect(higher).toBeGreaterThanOrEqual(lower);
      },
    ),
  );
});

test('the example of its docstring', () => {
  expect(quantile({ counts: [0, 0, 10], totalMs: 240 }, 0.5)).toBeCloseTo(24, 10);
});

test('a histogram halves and so forgets: after 900 slower tasks nothing is left of those before', () => {
  const times = recorded(() => 100, randomOf(1), 1_000);
  for (let task = 0; task < 900; task++) times.record(10_000);
  expect(times.counts[bucketOf(100)]).toBe(0);
  expect(mean(times) / 10_000).toBeGreaterThan(0.99);
});
