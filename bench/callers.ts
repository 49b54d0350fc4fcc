import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { Semaphore } from 'redis-semaphore';
import type { Cell } from '../lib/adapters/redis/cell.ts';
import type { RedisConnection } from '../lib/adapters/redis/connection.ts';
import { redisGate } from '../lib/adapters/redis/gate.ts';
import { day, second, toEpochMs } from '../lib/domain/time.ts';
import type { AdmitInput, Gate } from '../lib/ports.ts';
import { anyTask, remove } from './cell.ts';
import type { Case } from './rounds.ts';

/** Callers at a time: each sends its next call when the last is answered, as Lambdas do. */
export const callers = 50;

export type Rivals = {
  readonly client: Redis;
  readonly connection: RedisConnection;
  readonly cell: Cell;
  /** Tasks in the system. */
  readonly size: number;
  /** Operations in one round. */
  readonly operations: number;
};

/** The same operation by many callers at once, each through the client its users have. */
export async function byCallers<Item>(
  items: readonly Item[],
  operation: (item: Item) => Promise<unknown>,
  many = callers,
): Promise<void> {
  const queue = items.values();
  const caller = async () => {
    for (const item of queue) await operation(item);
  };
  await Promise.all(Array.from({ length: many }, caller));
}

export function setByCallers({ client, cell, operations }: Rivals): Case {
  let tasks: AdmitInput[] = [];
  return {
    name: 'SET NX PX',
    calls: operations,
    command: 'set',
    prepare: () => {
      tasks = Array.from({ length: operations }, () => anyTask(1_000));
      return () =>
        byCallers(tasks, (task) =>
          client.set(cell.keys.lock(task.dedupKey), `creating|${task.id}|${task.fingerprint}`, 'PX', cell.lockMs, 'NX'),
        );
    },
    restore: () => client.del(tasks.map((task) => cell.keys.lock(task.dedupKey))),
  };
}

function gateCase(rivals: Rivals, name: string, operation: (gate: Gate, task: AdmitInput) => Promise<void>): Case {
  const { client, connection, cell, size, operations } = rivals;
  const gate = redisGate({ connection, ...cell });
  let tasks: AdmitInput[] = [];
  return {
    name,
    calls: operations,
    command: 'evalsha',
    prepare: () => {
      tasks = Array.from({ length: operations }, () => anyTask(size));
      return () => byCallers(tasks, (task) => operation(gate, task));
    },
    restore: () => remove(client, cell, tasks),
  };
}

export function admitByCallers(rivals: Rivals): Case {
  return gateCase(rivals, 'admit', async (gate, task) => expectKind(await gate.admit(task), 'admitted'));
}

export function admitAndConfirm(rivals: Rivals): Case {
  return gateCase(rivals, 'admit + confirm', async (gate, task) => {
    expectKind(await gate.admit(task), 'admitted');
    expectKind(await gate.confirm(task), 'confirmed');
  });
}

/** `tiers`: how many of the task's tiers its attempts take slots in; pool and api, where service times are kept, are the fewest. */
export function acquireAndRelease(rivals: Rivals, tiers: 2 | 4): Case {
  const deadline = toEpochMs(Date.now() + day);
  const attempt = { attempt: 1, leaseMs: 15 * second, deadline, seatMs: 600 * second, epoch: 1 };
  return gateCase(rivals, `acquire + release, ${tiers} tiers`, async (gate, task) => {
    const claim = { ...task, tiers: task.tiers.slice(0, tiers), nonce: randomUUID() };
    expectKind(await gate.acquire({ ...claim, ...attempt }), 'acquired');
    expectKind(await gate.release(claim), 'released');
  });
}

export function redisSemaphore({ client, operations }: Rivals): Case {
  const key = '{bench}:semaphore';
  const options = { lockTimeout: 15 * second, refreshInterval: 0 };
  return {
    name: 'redis-semaphore acquire + release',
    calls: operations,
    command: 'evalsha',
    prepare: () => () =>
      byCallers(Array.from({ length: operations }), async () => {
        const semaphore = new Semaphore(client, key, 10_000, options);
        await semaphore.acquire();
        await semaphore.release();
      }),
    restore: () => client.del(`semaphore:${key}`),
  };
}

export function bullmqAdd({ client, operations }: Rivals): Case & { close(): Promise<void> } {
  // One hash tag, as the server is a cluster; `skipMetasUpdate` and the like are left as they come.
  const queue = new Queue('documents', { connection: client, prefix: '{bench}' });
  return {
    name: 'BullMQ add, deduplicated',
    calls: operations,
    command: 'evalsha',
    prepare: async () => {
      await queue.waitUntilReady();
      const tasks = Array.from({ length: operations }, () => anyTask(1_000));
      return () =>
        byCallers(tasks, ({ id, tenant, fingerprint }) =>
          queue.add('extract', { id, tenant }, { deduplication: { id: fingerprint } }),
        );
    },
    restore: () => queue.obliterate({ force: true }),
    close: () => queue.close(),
  };
}

export function expectKind({ kind }: { readonly kind: string }, wanted: string): void {
  if (kind !== wanted) throw new Error(`expected ${wanted}, got ${kind}`);
}
