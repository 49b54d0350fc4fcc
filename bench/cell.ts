import type { Redis } from 'ioredis';
import { v7 as uuid7 } from 'uuid';
import { type Cell, type In, member } from '../lib/adapters/redis/cell.ts';
import { cellKeys } from '../lib/adapters/redis/keys.ts';
import type { Script } from '../lib/adapters/redis/script.ts';
import { restoreScript } from '../lib/adapters/redis/scripts/cell-settings.ts';
import { releaseScript } from '../lib/adapters/redis/scripts/slots.ts';
import { toTaskId } from '../lib/domain/task-id.ts';
import { type Limits, tiersOf } from '../lib/domain/tiers.ts';
import { day, hour } from '../lib/domain/time.ts';
import type { AdmitInput } from '../lib/ports.ts';

/** Commands sent to the server at a time. */
export const pipelineLength = 100;

const most = 1_000_000;
/** Every tier has both limits, none of which is met: an admission checks and charges all four. */
export const limits: Limits = {
  pools: { documents: { running: 10_000, inSystem: most } },
  apis: { 'documents/extract': { running: 10_000, inSystem: most } },
  tenant: { running: 10_000, inSystem: most },
  ip: { running: 10_000, inSystem: most },
};

/** How tasks are spread over clients. */
export type Clients = { readonly tasksPerTenant: number; readonly tasksPerAddress: number };
export const busyClients: Clients = { tasksPerTenant: 1_000, tasksPerAddress: 100 };

export function newCell(stage: string): Cell {
  return { keys: cellKeys(stage), limits, lockMs: 60_000, startWindowMs: day, pointerMs: day };
}

/** A fresh task of the clients that hold the `place`th place in the system. */
export function taskAt(place: number, clients: Clients): AdmitInput {
  const tenant = `tenant-${Math.floor(place / clients.tasksPerTenant)}`;
  const address = Math.floor(place / clients.tasksPerAddress);
  const ip = `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`;
  const id = toTaskId(uuid7());
  const digits = id.replaceAll('-', '');
  return {
    tenant,
    id,
    tiers: tiersOf({ pool: 'documents', api: 'documents/extract', tenant, ip }),
    permits: 1,
    dedupKey: `D#${tenant}#f#${digits}`,
    fingerprint: `sha256:${digits}${digits}`,
  };
}

/** A task of a client picked at random from those of a system of `size`. */
export function anyTask(size: number): AdmitInput {
  return taskAt(Math.floor(Math.random() * Math.max(1, size)), busyClients);
}

/** Sends one script for each input, `pipelineLength` at a time, and throws at the first reply that is not of the kind wanted. */
export async function runAll<Input, Reply extends { readonly kind: string }>(
  client: Redis,
  script: Script<In<Input>, Reply>,
  cell: Cell,
  inputs: readonly Input[],
  wanted: Reply['kind'] | undefined,
): Promise<void> {
  for (let from = 0; from < inputs.length; from += pipelineLength) {
    const some = inputs.slice(from, from + pipelineLength).map((input) => ({ cell, input }));
    const pipeline = client.pipeline();
    for (const each of some) {
      const keys = script.keys(each);
      pipeline.evalsha(script.sha1, keys.length, ...keys, ...script.args(each));
    }
    const replies = (await pipeline.exec()) ?? [];
    for (const [index, [error, raw]] of replies.entries()) {
      if (error) throw error;
      const { kind } = script.reply(raw, some[index] as In<Input>);
      if (wanted !== undefined && kind !== wanted)
        throw new Error(`expected ${script.name} to say ${wanted}, got ${kind}`);
    }
  }
}

/** Begins the cell's epoch, without which nothing is decided. */
export async function beginEpoch(client: Redis, cell: Cell): Promise<void> {
  const input = { cell, input: { nonce: 'bench', lockMs: 1_000, take: true, epoch: 1 } };
  const keys = restoreScript.keys(input);
  await client.evalsha(restoreScript.sha1, keys.length, ...keys, ...restoreScript.args(input));
}

/** Takes tasks out of the system, with their locks. */
export async function remove(client: Redis, cell: Cell, tasks: readonly AdmitInput[]): Promise<void> {
  const ended = tasks.map((task) => ({ ...task, ended: { pointerMs: 0 } }));
  await runAll(client, releaseScript, cell, ended, undefined);
}

/**
 * Puts `size` tasks into the system as `admit` and `confirm` leave them, many to a command: admitting a million would take a minute.
 * Seats end over the coming hours, in the order in which the tasks came.
 */
export async function fill(client: Redis, cell: Cell, size: number, progress: (done: number) => void): Promise<void> {
  const block = busyClients.tasksPerTenant;
  const began = Date.now() + cell.startWindowMs - hour;
  for (let from = 0; from < size; from += block) {
    const sets = new Map<string, (string | number)[]>();
    const pipeline = client.pipeline();
    for (let place = from; place < Math.min(size, from + block); place++) {
      const task = taskAt(place, busyClients);
      const lapses = began + Math.floor((place / size) * hour);
      for (const tier of task.tiers) {
        const key = cell.keys.seats(tier);
        const set = sets.get(key) ?? [];
        set.push(lapses, member(task));
        sets.set(key, set);
      }
      const pointer = `created|${task.id}|${task.fingerprint}`;
      pipeline.set(cell.keys.lock(task.dedupKey), pointer, 'PX', cell.pointerMs);
    }
    for (const [key, set] of sets) pipeline.zadd(key, ...set);
    for (const key of [...sets.keys()].slice(2)) pipeline.pexpireat(key, began + hour);
    const failed = (await pipeline.exec())?.find(([error]) => error !== null);
    if (failed?.[0]) throw failed[0];
    progress(Math.min(1, (from + block) / size));
  }
}

/** Each script's text, so that EVALSHA finds it. */
export async function loadScripts(client: Redis, scripts: readonly { readonly source: string }[]): Promise<void> {
  for (const { source } of scripts) await client.script('LOAD', source);
}
