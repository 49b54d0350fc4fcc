import { hour, minute, second } from './time.ts';

/** Names the queue of deliveries where a pool's name stands for its work queue. */
export const deliveryQueue = 'deliver';
/** From the look-up of the receiver's name to the head of its answer. */
export const deliveryDeadlineMs = 10 * second;

/** What lies between two tries: seconds for a receiver that restarts, most of a day for one whose people are asleep. */
const delaysMs = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
] as const;
/** After a failure of many tasks at once they do not all come back at once. */
const jitter = 0.1;
const longestRetryAfterMs = hour;

export const mostDeliveryTries = delaysMs.length + 1;

export type NextTry = { readonly kind: 'again'; readonly afterMs: number } | { readonly kind: 'over' };

/**
 * When to try again after `tries` that failed. A receiver that asks for more time (`retryAfterMs`) gets it, up to an hour. `random` is from 0 to 1.
 *
 * After the second failed try with `random` 0.5: 30,000 ms; with a `Retry-After` of 60 s: 60,000 ms. After the ninth it is over.
 */
export function nextTry(tries: number, retryAfterMs: number | undefined, random: number): NextTry {
  const delayMs = delaysMs[tries - 1];
  if (delayMs === undefined) return { kind: 'over' };
  const ownMs = Math.round(delayMs * (1 - jitter + 2 * jitter * random));
  return { kind: 'again', afterMs: Math.max(ownMs, Math.min(retryAfterMs ?? 0, longestRetryAfterMs)) };
}
