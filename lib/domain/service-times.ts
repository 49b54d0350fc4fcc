/** Buckets of a histogram of service times. */
export const buckets = 34;
/** Below this many samples the configured timeout stands in for what was measured. */
export const fewestSamples = 20;
/**
 * When the samples pass this number, every count is halved, so that a histogram forgets: it knows the last 100 to 200 tasks. On the simulated day of
 * `test/domain/eta-coverage.test.ts`, where a service takes twice as long from noon, 90–98 % of the tasks start within their p90; a histogram that
 * remembers 1,000 lags behind, and 50–86 % do.
 */
export const mostSamples = 200;

/**
 * Service times of one pool or api, as `release` counts them. A service time is how long an attempt held its slots, in whole milliseconds.
 *
 * - `counts`   samples in each bucket, see `bucketOf`; a missing one is 0
 * - `totalMs`  the sum of the samples, halved with them: buckets are 41 % wide, and a mean taken from them is up to 19 % wrong for tasks that all
 *              take alike, which a hundred tasks in line turn into a p90 that is never or always met
 */
export type ServiceTimes = { readonly counts: readonly number[]; readonly totalMs: number };

/** How long a task holds its slots: `measured`, or, before there are `fewestSamples`, `assumed` to be its timeout. */
export type TaskTime =
  | {
      readonly kind: 'measured';
      readonly samples: number;
      readonly meanMs: number;
      /** In ms². */
      readonly variance: number;
      /** Mean and variance of what is left of a task found running at any moment. */
      readonly restMs: number;
      readonly restVariance: number;
    }
  | { readonly kind: 'assumed'; readonly samples: number; readonly meanMs: number };

/**
 * The bucket of a service time: `clamp(⌊2·log₂(ms / 10)⌋, 0, 33)`, so bucket i holds 10·2^(i/2) up to 10·2^((i+1)/2) ms, the first everything
 * shorter and the last everything longer. Counted in whole numbers, as the largest i with 100·2^i ≤ ms², so that Lua has the same answer at every
 * edge. `bucketOf(20)` is 2: 100·2² ≤ 400 < 100·2³.
 */
export function bucketOf(ms: number): number {
  const square = ms * ms;
  let bucket = 0;
  for (let next = 200; bucket < buckets - 1 && next <= square; next *= 2) bucket++;
  return bucket;
}

export function samples({ counts }: ServiceTimes): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Mean service time in ms, at least 1: exact, but for the halvings. Of no samples it is 1. */
export function mean(times: ServiceTimes): number {
  return Math.max(1, times.totalMs / Math.max(1, samples(times)));
}

/** Variance of the service times in ms²: samples lie evenly within their bucket, and the whole is stretched to the exact mean. */
export function variance(times: ServiceTimes): number {
  return Math.max(0, moments(times).second - mean(times) ** 2);
}

/**
 * The service time in ms that a share `q` of the samples does not exceed; of no samples, 0. `quantile({ counts: [0, 0, 10], totalMs: 240 }, 0.5)` is
 * 24: the middle of 20 to 28.3 ms is 24.1, and the measured mean is 24.
 */
export function quantile(times: ServiceTimes, q: number): number {
  const wanted = q * samples(times);
  const { stretch } = moments(times);
  let below = 0;
  for (const [index, { from, to }] of evenly.entries()) {
    const count = times.counts[index] ?? 0;
    if (count > 0 && below + count >= wanted) return stretch * (from + ((to - from) * (wanted - below)) / count);
    below += count;
  }
  return 0;
}

/**
 * What one knows about the next task's service time. The rest of a task found running has mean E[S²] / 2E[S] and second moment E[S³] / 3E[S]: at a
 * random moment one sees long tasks more often, and somewhere within them (renewal theory). Half-hour tasks all alike have 15 minutes left.
 */
export function taskTime(times: ServiceTimes, timeoutMs: number): TaskTime {
  const count = samples(times);
  if (count < fewestSamples) return { kind: 'assumed', samples: count, meanMs: Math.max(1, timeoutMs) };
  const meanMs = mean(times);
  const { second, third } = moments(times);
  const restMs = second / (2 * meanMs);
  return {
    kind: 'measured',
    samples: count,
    meanMs,
    variance: Math.max(0, second - meanMs ** 2),
    restMs,
    restVariance: Math.max(0, third / (3 * meanMs) - restMs ** 2),
  };
}

/** Edges of the buckets in ms, from below the first to above the last. */
const edges = Array.from({ length: buckets + 1 }, (_, bucket) => (bucket === 0 ? 0 : 10 * 2 ** (bucket / 2)));

/** First three moments about 0 of service times that lie evenly within each bucket. */
const evenly = edges.slice(0, -1).map((a, bucket) => {
  const b = edges[bucket + 1] ?? a;
  return {
    from: a,
    to: b,
    first: (a + b) / 2,
    second: (a * a + a * b + b * b) / 3,
    third: ((a + b) * (a * a + b * b)) / 4,
  };
});

/** Second and third moment about 0, and the factor that brings the mean of the buckets to the exact one. */
function moments(times: ServiceTimes): { readonly stretch: number; readonly second: number; readonly third: number } {
  let [first, second, third] = [0, 0, 0];
  evenly.forEach((bucket, index) => {
    const count = times.counts[index] ?? 0;
    first += count * bucket.first;
    second += count * bucket.second;
    third += count * bucket.third;
  });
  if (first === 0) return { stretch: 1, second: 0, third: 0 };
  const count = samples(times);
  const stretch = (mean(times) * count) / first;
  return { stretch, second: (stretch ** 2 * second) / count, third: (stretch ** 3 * third) / count };
}
