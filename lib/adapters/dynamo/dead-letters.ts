import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { toTaskId } from '../../domain/task-id.ts';
import { type EpochMs, second } from '../../domain/time.ts';
import type { DeadKey, Records, RedriveJob, Unreadable } from '../../ports.ts';
import { createTask } from './create.ts';
import { deadShard, deadShards, moment, readTaskKey, ttl } from './item.ts';
import { getItem, putIf } from './one-item.ts';
import { readMerged } from './pages.ts';
import { transition } from './transition.ts';

type DeadLetterRecords = Pick<
  Records,
  | 'dead'
  | 'countDead'
  | 'redrive'
  | 'markRedriven'
  | 'keepUnreadable'
  | 'readUnreadable'
  | 'readRedrive'
  | 'writeRedrive'
>;

const indexKey = z.object({ pk: z.string() });
const unreadable = z.object({
  id: z.string(),
  queue: z.string(),
  body: z.string(),
  finishedAt: moment,
  expiresAt: moment,
});
const filter = z.object({
  ids: z.array(z.string().transform(toTaskId)).optional(),
  api: z.string().optional(),
  pool: z.string().optional(),
  tenant: z.string().optional(),
  code: z.string().optional(),
  after: moment.optional(),
  before: moment.optional(),
});
const job = z.object({
  id: z.string(),
  changes: z.int(),
  status: z.enum(['running', 'done', 'stopped']),
  filter: z.string().transform((text) => filter.parse(JSON.parse(text))),
  perSecond: z.number(),
  startedAt: moment,
  startedBy: z.string(),
  endedAt: moment.optional(),
  redriven: z.int(),
  joined: z.int(),
  refused: z.int(),
  held: z.int().default(0),
});
const unreadablePrefix = 'U#';
/** Whoever looks at the queues asks for the number; it costs more the more there are. */
const countAgainMs = 10 * second;

/** Dead letters: tasks that were given up, messages nobody could read, and the redrive that does such tasks again. */
export function dynamoDeadLetters({
  client,
  table,
  stage,
  now,
}: {
  client: DynamoDBClient;
  table: string;
  stage: string;
  now: () => EpochMs;
}): DeadLetterRecords {
  let counted: { readonly until: number; readonly count: ReturnType<Records['countDead']> } | undefined;
  const jobKey = `S#${stage}#0#redrive`;

  async function readRedrive(): Promise<RedriveJob | undefined> {
    const stored = await getItem(client, table, jobKey);
    return stored && job.parse(unmarshall(stored));
  }

  /** Up to a megabyte of keys of each shard. */
  async function countAll() {
    const counts = deadShards().map(async (shard) => {
      const { Count = 0, LastEvaluatedKey } = await client.send(
        new QueryCommand({
          TableName: table,
          IndexName: 'dead',
          Select: 'COUNT',
          KeyConditionExpression: 'deadShard = :shard',
          ExpressionAttributeValues: marshall({ ':shard': shard }),
        }),
      );
      return { count: Count, atLeast: LastEvaluatedKey !== undefined };
    });
    const all = await Promise.all(counts);
    return { count: all.reduce((sum, { count }) => sum + count, 0), atLeast: all.some(({ atLeast }) => atLeast) };
  }

  return {
    async dead(page) {
      const dead = { index: 'dead', hash: 'deadShard', sort: 'finishedAt', shards: deadShards() };
      const { keys, positions } = await readMerged(client, table, dead, page);
      return { letters: keys.map((key) => readDeadKey(indexKey.parse(key).pk)), positions };
    },
    countDead() {
      if (counted === undefined || counted.until <= now()) {
        counted = { until: now() + countAgainMs, count: countAll() };
        counted.count.catch(() => {
          counted = undefined;
        });
      }
      return counted.count;
    },
    redrive: (record, options) => createTask(client, table, record, options),
    markRedriven: (key, as) =>
      transition(client, table, key, {
        when: { status: 'failed', deadShard: true },
        set: { redrivenAs: as },
        add: { revision: 1 },
        remove: ['deadShard'],
        isOwn: ({ redrivenAs }) => redrivenAs === as,
      }),
    async keepUnreadable(message) {
      const place = {
        pk: unreadablePrefix + message.id,
        deadShard: deadShard(message.id),
        ttl: ttl(message.expiresAt),
      };
      await putIf(client, table, { ...message, ...place }, 'attribute_not_exists(pk)');
    },
    async readUnreadable(id): Promise<Unreadable | undefined> {
      const stored = await getItem(client, table, unreadablePrefix + id);
      const read = stored && unreadable.parse(unmarshall(stored));
      return read !== undefined && read.expiresAt > now() ? read : undefined;
    },
    readRedrive,
    async writeRedrive(next, seen) {
      const item = { pk: jobKey, ...next, filter: JSON.stringify(next.filter) };
      const written = await (seen === undefined
        ? putIf(client, table, item, 'attribute_not_exists(pk)')
        : putIf(client, table, item, 'id = :id AND changes = :changes', { ':id': seen.id, ':changes': seen.changes }));
      if (written) return true;
      // A repeat after a lost reply finds its own work.
      const stored = await readRedrive();
      return stored?.id === next.id && stored.changes === next.changes && stored.status === next.status;
    },
  };
}

function readDeadKey(pk: string): DeadKey {
  return pk.startsWith(unreadablePrefix)
    ? { kind: 'unreadable', id: pk.slice(unreadablePrefix.length) }
    : { kind: 'task', ...readTaskKey(pk) };
}
