import { taskIdTime } from '../domain/task-id.ts';
import type { TierUse } from '../domain/tiers.ts';
import type { DeadLetters } from '../ports.ts';
import type { Deps } from './deps.ts';

/** What a pool holds now, from the sets the gate counts by. `pending`: admitted, not running. */
export type PoolStatus = Pick<TierUse, 'running' | 'inSystem'> & {
  readonly pending: number;
  readonly oldestPendingMs?: number;
};
export type QueueStatus = {
  readonly pools: Readonly<Record<string, PoolStatus>>;
  readonly deadLetters: Readonly<Record<string, number>>;
  readonly limitsVersion: number;
};

/** The state of every pool and of the dead-letter queues; no client's data. Throws `Unavailable`. */
export async function observe({
  weir,
  gate,
  deadLetters,
}: Pick<Deps, 'weir' | 'gate'> & { deadLetters: DeadLetters }): Promise<QueueStatus> {
  const names = Object.keys(weir.pools);
  const [{ now, limitsVersion, tiers }, dead] = await Promise.all([
    gate.observe(names.map((name) => ({ tier: 'pool', name }))),
    deadLetters.count(),
  ]);
  const pools = tiers.map(({ name, running, inSystem, tasksRunning, oldestWaiting }): [string, PoolStatus] => {
    const oldest = oldestWaiting === undefined ? {} : { oldestPendingMs: Math.max(0, now - taskIdTime(oldestWaiting)) };
    return [name, { running, inSystem, pending: Math.max(0, inSystem.inUse - tasksRunning), ...oldest }];
  });
  return { pools: Object.fromEntries(pools), deadLetters: dead, limitsVersion };
}
