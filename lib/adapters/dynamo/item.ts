import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { toTaskId } from '../../domain/task-id.ts';
import { isTerminal, type TaskRecord, taskStatuses } from '../../domain/task-record.ts';
import { tierKinds } from '../../domain/tiers.ts';
import { toEpochMs } from '../../domain/time.ts';
import type { TaskKey } from '../../ports.ts';

export type Item = Record<string, AttributeValue>;

/** Shards of the indexes of open, of dead and of each tenant's tasks: writes of one moment spread over them, `reconcile` reads them all. */
export const shards = 4;

export function taskKey({ tenant, id }: TaskKey): string {
  return `T#${tenant}#${id}`;
}

/** A tenant may contain `#`, an id never does. */
export function readTaskKey(pk: string): TaskKey {
  const at = pk.lastIndexOf('#');
  return { tenant: pk.slice(2, at), id: toTaskId(pk.slice(at + 1)) };
}

/** As items hold one. */
export const moment = z.number().transform(toEpochMs);
const item = z.object({
  tenant: z.string(),
  id: z.string().transform(toTaskId),
  api: z.string(),
  pool: z.string(),
  status: z.enum(taskStatuses),
  attempt: z.int(),
  failures: z.int(),
  lostLeases: z.int(),
  burials: z.int().default(0),
  buriedSend: z.int().optional(),
  holder: z.string().optional(),
  deadline: moment,
  dueAt: moment,
  runAt: moment.optional(),
  expectedBy: moment.optional(),
  sends: z.int(),
  revision: z.int(),
  epoch: z.int(),
  permits: z.int(),
  tiers: z.array(z.object({ tier: z.enum(tierKinds), name: z.string() })),
  charges: z
    .array(z.object({ rule: z.string(), identity: z.string(), amount: z.int(), cost: z.string(), at: moment }))
    .optional(),
  input: z.string(),
  inputDigest: z.string(),
  files: z.array(
    z.object({
      field: z.string(),
      name: z.string().optional(),
      mediaType: z.string(),
      size: z.int(),
      sha256: z.string(),
      key: z.string(),
      keptUntil: moment.optional(),
    }),
  ),
  dedupKey: z.string(),
  fingerprint: z.string(),
  reuseMs: z.int(),
  createdAt: moment,
  startedAt: moment.optional(),
  finishedAt: moment.optional(),
  expiresAt: moment,
  progress: z.object({ percent: z.number(), message: z.string().optional() }).optional(),
  result: z.string().optional(),
  resultFile: z
    .object({
      key: z.string(),
      size: z.int(),
      sha256: z.string(),
      mediaType: z.string(),
      name: z.string().optional(),
    })
    .optional(),
  resultUntil: moment.optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  callbackUrl: z.string().optional(),
  delivery: z
    .object({
      status: z.enum(['pending', 'delivered', 'failed']),
      attempts: z.int(),
      nextAt: moment.optional(),
      lastAt: moment.optional(),
      problem: z.string().optional(),
    })
    .optional(),
  redriveOf: z.string().transform(toTaskId).optional(),
  redrivenAs: z.string().transform(toTaskId).optional(),
});

/** A task item as a record; what the record does not name (keys, shard, ttl) is dropped. Throws on an item of another shape. */
export function toRecord(stored: Item): TaskRecord {
  return item.parse(unmarshall(stored));
}

/** The task item of a record, with its key, its places in the indexes of open and of its tenant's tasks, and its `ttl` in seconds. */
export function toItem(record: TaskRecord): Item {
  const open = isTerminal(record.status) ? {} : { openShard: openShard(record.id) };
  const places = { ...open, ownShard: ownShard(record.tenant, shardOf(record.id)) };
  const whole = { pk: taskKey(record), ...record, ...places, ttl: ttl(record.expiresAt) };
  return marshall(whole, { removeUndefinedValues: true });
}

export function openShard(id: string): string {
  return `open#${shardOf(id)}`;
}

export function deadShard(id: string): string {
  return `dead#${shardOf(id)}`;
}

export function deadShards(): string[] {
  return Array.from({ length: shards }, (_, shard) => `dead#${shard}`);
}

/** A tenant's tasks; the shard comes first, because a tenant may be any text. */
export function ownShard(tenant: string, shard: number): string {
  return `own#${shard}#${tenant}`;
}

/** From the id's random end: its beginning is the time, the same for all of one moment. */
function shardOf(id: string): number {
  return Number.parseInt(id.slice(-4), 16) % shards;
}

/** DynamoDB deletes by seconds, and late: readers compare `expiresAt` themselves. */
export function ttl(expiresAt: number): number {
  return Math.ceil(expiresAt / 1_000);
}
