import { createHash } from 'node:crypto';
import { eta } from './eta.ts';
import type { TaskTime } from './service-times.ts';
import { type EpochMs, hour, minute, second, toEpochMs } from './time.ts';

const shortestMs = second;
const longestMs = hour;
/** Nothing runs, and nobody knows until when. */
const closedMs = minute;
const jitter = 0.2;

/** Refused clients of one tier that were told to come back and whose seat has not come free, as of `at`. */
export type Refusals = { readonly count: number; readonly at: EpochMs };

/**
 * How often a seat comes free, in whole ms, at least 1: `⌊mean / running⌋`. Tasks of 60 s on 4 slots free one every 15,000 ms. In Lua, with `n`
 * samples: `math.max(1, math.floor(ms / (n * running)))`, or of the timeout below 20.
 */
export function seatEveryMs(task: TaskTime, running: number): number {
  return Math.max(1, Math.floor(task.meanMs / Math.max(1, running)));
}

/**
 * One more refusal at `now`, where a seat comes free every `everyMs`, as `seatEveryMs` has it: it is the k-th of those that wait for one. Seats freed since `at` belong to those
 * told before, so they leave the count; `at` moves by whole seats, so that no part of one is lost. Never counts more than an hour of seats: past it
 * everyone is told the same, and a flood is forgotten within the hour. Whole numbers only, so that Lua has the same answer.
 *
 * Ten told at 0, one seat every 100 ms: at 250 two have gone, so `nextRefusal({ count: 10, at: 0 }, 250, 100)` is k = 9, at = 200.
 */
export function nextRefusal(
  state: Refusals | undefined,
  now: EpochMs,
  everyMs: number,
): { readonly state: Refusals; readonly k: number } {
  const { count, at } = state ?? { count: 0, at: now };
  const since = Math.min(at, now);
  const freed = Math.floor((now - since) / everyMs);
  const most = Math.ceil(longestMs / everyMs);
  const k = Math.min(most, Math.max(0, count - freed) + 1);
  return { state: { count: k, at: freed >= count ? now : toEpochMs(since + freed * everyMs) }, k };
}

/**
 * When the k-th refused client should come back: the time within which k seats come free nine times of ten (a seat comes free when a task ends, so it
 * is the p90 of position k), one second more, so that waits below a second keep their order, and 0 to 20 % by the client's own hash, so that
 * clients told alike do not return together. Between 1 s and 1 h.
 *
 * First of those that wait for tasks assumed to take 60 s, on 4 slots: 15 s and 1 s, so 16,000 to 19,200 ms.
 */
export function retryAfterMs(
  task: TaskTime,
  { k, running, client }: { readonly k: number; readonly running: number; readonly client: string },
): number {
  const seats = eta(task, { position: k, running });
  const waitMs = seats.kind === 'unknown' ? closedMs : seats.p90;
  const share = createHash('sha256').update(client).digest().readUInt16BE(0) / 65_535;
  return Math.floor(Math.min(longestMs / (1 + jitter), shortestMs + waitMs) * (1 + jitter * share));
}
