import { taskIdTime } from '../domain/task-id.ts';
import type { TierUse } from '../domain/tiers.ts';
import type { DeadLetters } from '../ports.ts';
import type { Deps } from './deps.ts';

/** What a pool holds now, from the sets the gate counts by. `pending`: admitted, not running. */
export type PoolStatus = Pick<TierUse, 'running' | 'inSystem'> & {
  readonly pending: number;
  readonly oldestPendingMs?: number;
  /** Of the tasks that were told a p90 and have started: how many, and the share that started by then (wanted: 0.85 to 0.95). */
  readonly etas: { readonly told: number; readonly coverage?: number };
};
export type QueueStatus = {
  readonly pools: Readonly<Record<string, PoolStatus>>;
  readonly deadLetters: Readonly<Record<string, number>>;
  readonly limitsVersion: number;
  /** Redis lost its data and is being rebuilt: nothing is admitted until then. */
  readonly rebuilding: boolean;
};

/** The state of every pool and of the dead-letter queues; no client's data. Throws `Unavailable`. */
export async function observe({
  weir,
  gate,
  deadLetters,
}: Pick<Deps, 'weir' | 'gate'> & { deadLetters: DeadLetters }): Promise<QueueStatus> {
  const tiers = Object.keys(weir.pools).map((name) => ({ tier: 'pool' as const, name }));
  const [seen, times, dead] = await Promise.all([gate.observe({ tiers }), gate.times(tiers), deadLetters.count()]);
  const pools = seen.tiers.map((tier, index): [string, PoolStatus] => {
    const { name, running, inSystem, tasksRunning, oldestWaiting } = tier;
    const { etasTold: told = 0, etasKept: kept = 0 } = times[index] ?? {};
    return [
      name,
      {
        running,
        inSystem,
        pending: Math.max(0, inSystem.inUse - tasksRunning),
        ...(oldestWaiting === undefined ? {} : { oldestPendingMs: Math.max(0, seen.now - taskIdTime(oldestWaiting)) }),
        etas: told === 0 ? { told } : { told, coverage: Math.round((1_000 * kept) / told) / 1_000 },
      },
    ];
  });
  const { limitsVersion, rebuilding } = seen;
  return { pools: Object.fromEntries(pools), deadLetters: dead, limitsVersion, rebuilding };
}
