import { createHash } from 'node:crypto';

const leastMs = 1_000;
const mostMs = 30_000;

/**
 * When a refused client should come back: the time one of `running` slots takes to free if a task takes `taskMs`, between 1 and 30 s, plus 0 to 20 %
 * by the client's own hash, so that clients refused together do not return together. `retryAfterMs(60_000, 4, 'a')` is 15,000 to 18,000.
 */
export function retryAfterMs(taskMs: number, running: number | undefined, client: string): number {
  const base = Math.min(mostMs, Math.max(leastMs, taskMs / Math.max(1, running ?? 1)));
  const share = createHash('sha256').update(client).digest().readUInt16BE(0) / 65_535;
  return Math.round(base * (1 + 0.2 * share));
}
