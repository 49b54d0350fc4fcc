import type { WorkDeps } from '../operations/deps.ts';
import { work } from '../operations/work.ts';
import { queueHandler } from './queue-handler.ts';
import { readTaskMessage } from './task-message.ts';

/** The consumer of one pool's work queue. */
export function workHandler(deps: WorkDeps, poolName: string) {
  const pool = deps.weir.pools[poolName];
  if (pool === undefined) throw new Error(`expected a pool of the config, got ${poolName}`);
  return queueHandler(deps, { queue: poolName, read: readTaskMessage }, (delivery) => work(deps, pool, delivery));
}
