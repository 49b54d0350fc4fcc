import type { Pause } from '../domain/live-limits.ts';
import { taskIdTime } from '../domain/task-id.ts';
import type { TierUse } from '../domain/tiers.ts';
import type { Queues } from '../ports.ts';
import type { Deps } from './deps.ts';

/** What a pool holds now, from the sets the gate counts by. `pending`: admitted, not running. */
export type PoolStatus = Pick<TierUse, 'running' | 'inSystem'> & {
  readonly pending: number;
  readonly oldestPendingMs?: number;
  /** Messages that found no slot and come again later, by SQS's approximate count. */
  readonly deferred: number;
  readonly paused: boolean;
  /** Where it is paused: whether it takes new tasks meanwhile. */
  readonly admission?: Pause['admission'];
  /** Of the tasks that were told a p90 and have started: how many, and the share that started by then (wanted: 0.85 to 0.95). */
  readonly etas: { readonly told: number; readonly coverage?: number };
};
export type QueueStatus = {
  readonly pools: Readonly<Record<string, PoolStatus>>;
  /** Messages in the dead-letter queues, which `bury` empties within seconds. */
  readonly deadLetters: Readonly<Record<string, number>>;
  /** Tasks that were given up and messages nobody could read, for the operator to look at; `atLeast` where not all were counted. */
  readonly deadTasks?: { readonly count: number; readonly atLeast: boolean };
  readonly limitsVersion: number;
  /** Redis lost its data and is being rebuilt: nothing is admitted until then. */
  readonly rebuilding: boolean;
};

/** The state of every pool and of the dead-letter queues; no client's data. Throws `Unavailable`. */
export async function observe({
  weir,
  gate,
  records,
  queues,
}: Pick<Deps, 'weir' | 'gate' | 'records'> & { queues: Queues }): Promise<QueueStatus> {
  const tiers = Object.keys(weir.pools).map((name) => ({ tier: 'pool' as const, name }));
  const [seen, times, counts, deadTasks] = await Promise.all([
    gate.observe({ tiers }),
    gate.times(tiers),
    queues.count(),
    // A number beside the others, and not worth their loss.
    records.countDead().catch(() => undefined),
  ]);
  const pools = seen.tiers.map((tier, index): [string, PoolStatus] => {
    const { name, running, inSystem, tasksRunning, oldestWaiting, paused } = tier;
    const pending = Math.max(0, inSystem.inUse - tasksRunning);
    const invisible = counts[name]?.invisible ?? 0;
    const { etasTold: told = 0, etasKept: kept = 0 } = times[index] ?? {};
    return [
      name,
      {
        running,
        inSystem,
        pending,
        ...(oldestWaiting === undefined ? {} : { oldestPendingMs: Math.max(0, seen.now - taskIdTime(oldestWaiting)) }),
        // A message of a task that runs is invisible too.
        deferred: Math.min(pending, Math.max(0, invisible - tasksRunning)),
        paused: paused !== undefined,
        ...(paused === undefined ? {} : { admission: paused.admission }),
        etas: told === 0 ? { told } : { told, coverage: Math.round((1_000 * kept) / told) / 1_000 },
      },
    ];
  });
  const { limitsVersion, rebuilding } = seen;
  const deadLetters = Object.fromEntries(Object.entries(counts).map(([pool, { dead }]) => [pool, dead]));
  const dead = deadTasks === undefined ? {} : { deadTasks };
  return { pools: Object.fromEntries(pools), deadLetters, ...dead, limitsVersion, rebuilding };
}
