import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Cell } from '../lib/adapters/redis/cell.ts';
import { admitScript, confirmScript } from '../lib/adapters/redis/scripts/admission.ts';
import { acquireScript } from '../lib/adapters/redis/scripts/slots.ts';
import { day, toEpochMs } from '../lib/domain/time.ts';
import { beginEpoch, type Clients, newCell, runAll, taskAt } from './cell.ts';

export type Bytes = {
  readonly name: string;
  readonly tasks: number;
  /** Lock or pointer, and a seat in each of four tiers. */
  readonly perTask: number;
  /** On top while it runs: a slot in each tier, and who holds them. */
  readonly perRunningTask: number;
  /** The decision log, which stays as long as this however many tasks there are. */
  readonly log: number;
};

/** Admits, confirms and starts tasks as Weir does and weighs the server before and after. The system is left as it is: measure in a cell of its own. */
export async function bytesPerTask(client: Redis, name: string, clients: Clients, tasks: number): Promise<Bytes> {
  const cell = newCell(`memory-${randomUUID().slice(0, 8)}`);
  await beginEpoch(client, cell);
  const all = Array.from({ length: tasks }, (_, place) => taskAt(place, clients));
  const running = all.slice(0, tasks / 10);
  const deadline = toEpochMs(Date.now() + 2 * day);
  const attempt = { attempt: 1, leaseMs: 3_600_000, deadline, seatMs: 3_600_000, epoch: 1 };

  const empty = await used(client, cell);
  await runAll(client, admitScript, cell, all, 'admitted');
  await runAll(client, confirmScript, cell, all, 'confirmed');
  const admitted = await used(client, cell);
  const attempts = running.map((task) => ({ ...task, ...attempt, nonce: randomUUID() }));
  await runAll(client, acquireScript, cell, attempts, 'acquired');
  const started = await used(client, cell);
  return {
    name,
    tasks,
    perTask: Math.round((admitted.bytes - empty.bytes) / tasks),
    perRunningTask: Math.round((started.bytes - admitted.bytes) / running.length),
    log: started.log,
  };
}

/** What the server holds beside the decision log. */
async function used(client: Redis, cell: Cell): Promise<{ bytes: number; log: number }> {
  const info = await client.info('memory');
  const log = Number((await client.call('MEMORY', 'USAGE', cell.keys.log, 'SAMPLES', '0')) ?? 0);
  return { bytes: Number(/^used_memory_dataset:(\d+)/m.exec(info)?.[1]) - log, log };
}
