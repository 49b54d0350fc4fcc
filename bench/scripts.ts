import type { Redis } from 'ioredis';
import type { Cell } from '../lib/adapters/redis/cell.ts';
import { admitScript } from '../lib/adapters/redis/scripts/admission.ts';
import type { AdmitInput } from '../lib/ports.ts';
import { anyTask, pipelineLength, remove, runAll } from './cell.ts';
import type { Case } from './rounds.ts';

/** Pipelines of a round of SET, which is over too soon for the counters otherwise. */
const setPipelines = 10;

/** The least that takes a lock: one key with a value as long as ours. */
export function bareSet(client: Redis, cell: Cell): Case {
  let tasks: AdmitInput[] = [];
  return {
    name: 'SET NX PX',
    calls: setPipelines * pipelineLength,
    command: 'set',
    prepare: () => {
      tasks = Array.from({ length: setPipelines * pipelineLength }, () => anyTask(1_000));
      return async () => {
        for (let from = 0; from < tasks.length; from += pipelineLength) {
          const pipeline = client.pipeline();
          for (const task of tasks.slice(from, from + pipelineLength)) {
            const lock = `creating|${task.id}|${task.fingerprint}`;
            pipeline.set(cell.keys.lock(task.dedupKey), lock, 'PX', cell.lockMs, 'NX');
          }
          const replies = (await pipeline.exec()) ?? [];
          if (replies.some(([, reply]) => reply !== 'OK')) throw new Error('expected SET NX to find no key');
        }
      };
    },
    restore: () => client.del(tasks.map((task) => cell.keys.lock(task.dedupKey))),
  };
}

/** `admit` with four tiers and dedup, by clients that have tasks among the `size` in the system. */
export function admitting(client: Redis, cell: Cell, size: number, name: string): Case {
  let tasks: AdmitInput[] = [];
  return {
    name,
    calls: pipelineLength,
    command: 'evalsha',
    prepare: () => {
      tasks = Array.from({ length: pipelineLength }, () => anyTask(size));
      return () => runAll(client, admitScript, cell, tasks, 'admitted');
    },
    restore: () => remove(client, cell, tasks),
  };
}
