import { attemptMarginMs, type Weir } from '../lib/config.ts';

/** How long a pool's function may run: its longest task and the margin, in whole seconds; the config's check keeps it within Lambda's 900 s. */
export function workTimeoutMs(weir: Weir, pool: string): number {
  const tasks = Object.values(weir.tasks).filter((task) => task.pool === pool);
  const longestMs = Math.max(...tasks.map((task) => task.timeoutMs));
  return 1_000 * Math.ceil((longestMs + attemptMarginMs) / 1_000);
}
