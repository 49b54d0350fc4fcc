import type { TaskTime } from './service-times.ts';
import { unreachable } from './unreachable.ts';

/** A place in line: `position` 1 is the next to start, `running` the slots there may be, `inUse` those taken now (all, unless it is said). */
export type Line = { readonly position: number; readonly running: number; readonly inUse?: number };

/**
 * When a task starts, in whole ms from now: half of the tasks in its place do by `p50`, nine of ten by `p90`. `measured` and `assumed` say where
 * the service time comes from. `unknown`: there is no slot (closed), so nothing can be said.
 */
export type Eta =
  | { readonly kind: 'measured' | 'assumed'; readonly p50: number; readonly p90: number }
  | { readonly kind: 'unknown' };

/** The standard normal quantile of 0.9. */
const z90 = 1.2815515655446004;
/** How likely all running tasks are held to have started together, as after a burst into an idle pool. */
const together = 0.25;
/** The mean drifts over a day, so samples are taken to tell half of what as many would about a mean that stays. */
const evidence = 0.5;
/** No line is longer. */
const lastPosition = 1_000_000;

/**
 * The task in line starts when the k-th slot from now comes free, k = position + inUse − running. Of r slots, with service times of mean μ and
 * variance σ², and a rest of mean ρ and variance τ² for those running:
 *
 *     mean      k·μ/r                                  r slots end r tasks every μ
 *               − (μ − ρ)/r²                           the first end is near: a running task is part done
 *               + ¼·φ                                  φ = (1 − 1/r)·(μ − ρ): later by that if all started together
 *     variance  (k·σ² + (2·min(k, r) − 1)·τ²)/r²       k tasks, and those caught midway, now and then
 *               + (k/r)²·2σ²/n                         μ itself is known from n samples
 *               + ¼·¾·φ²
 *
 * and quantiles of the lognormal with that mean and variance. Where tasks vary more than exponential ones, ρ > μ, μ − ρ is taken as 0, but for r = 1,
 * where it is exact. It grows with `position`.
 *
 * On the simulated day of `test/domain/eta-coverage.test.ts` 94 % start within the p90 (80–100 % on its several kinds of day). The sum of ⌈k / r⌉
 * service times has 95 % there, but 65–91 % where tasks vary and r = 1 (nothing for the drift of the mean), and 97–100 % of waits far too long for
 * r = 50 (sums of few tasks vary more than departures of many slots).
 *
 * Tasks of 10 s that vary evenly between 9 and 11 s, known from 200 samples, on 4 slots, position 8: ρ = 5.0 s, τ = 2.9 s, φ = 3.7 s, so mean
 * 20 − 0.3 + 0.9 = 20.6 s, standard deviation 2.6 s: p50 20.5 s, p90 24.0 s. By `assumed` tasks it is k·μ/r, for both.
 */
export function eta(task: TaskTime, line: Line): Eta {
  const k = slotsToWaitFor(line);
  if (k <= 0) return { kind: task.kind, p50: 0, p90: 0 };
  if (line.running <= 0) return { kind: 'unknown' };
  switch (task.kind) {
    case 'assumed': {
      const ms = Math.ceil((k * task.meanMs) / line.running);
      return { kind: task.kind, p50: ms, p90: ms };
    }
    case 'measured':
      return { kind: task.kind, ...quantiles(task, k, line.running) };
    default:
      return unreachable(task);
  }
}

/**
 * The largest position whose p90 is at most `maxWaitMs`, so that `eta(…, { position }).p90 ≤ maxWaitMs` exactly for the positions up to it: a task
 * that would come later is refused at the door. As many as there are free slots even for 0 ms; 0 where nothing may run.
 */
export function mostAhead(task: TaskTime, slots: Omit<Line, 'position'>, maxWaitMs: number): number {
  let [within, beyond] = [0, lastPosition + 1];
  while (beyond - within > 1) {
    const position = Math.floor((within + beyond) / 2);
    const answer = eta(task, { ...slots, position });
    if (answer.kind !== 'unknown' && answer.p90 <= maxWaitMs) within = position;
    else beyond = position;
  }
  return within;
}

function slotsToWaitFor({ position, running, inUse = running }: Line): number {
  return position + inUse - running;
}

function quantiles(task: Extract<TaskTime, { kind: 'measured' }>, k: number, r: number): { p50: number; p90: number } {
  const early = task.meanMs - task.restMs;
  const lockstep = Math.max(0, early) * (1 - 1 / r);
  const first = r === 1 ? early : Math.max(0, early) / r ** 2;
  const meanMs = (k * task.meanMs) / r - first + together * lockstep;
  const variance =
    (k * task.variance + (2 * Math.min(k, r) - 1) * task.restVariance) / r ** 2 +
    ((k / r) ** 2 * task.variance) / (evidence * task.samples) +
    together * (1 - together) * lockstep ** 2;
  const ratio = 1 + variance / meanMs ** 2;
  const median = meanMs / Math.sqrt(ratio);
  return { p50: Math.ceil(median), p90: Math.ceil(median * Math.exp(z90 * Math.sqrt(Math.log(ratio)))) };
}
