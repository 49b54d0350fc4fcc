import { type DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { toTaskId } from '../../domain/task-id.ts';
import type { EpochMs } from '../../domain/time.ts';
import type { AttemptKey, Cursor, Records } from '../../ports.ts';
import { bounded } from '../outage.ts';
import { dynamoSettings } from './cell-settings.ts';
import { createTask } from './create.ts';
import { deadShard, shards, taskKey, toRecord } from './item.ts';
import { type Transition, transition } from './transition.ts';

const pageSize = 100;
const dedupItem = z.object({ taskId: z.string().transform(toTaskId), fingerprint: z.string(), expiresAt: z.number() });
const indexKey = z.object({ pk: z.string() });

export type DynamoOptions = {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** The settings item is this cell's. */
  readonly stage: string;
  readonly now: () => EpochMs;
};

/** DynamoDB behind the `Records` port; docs/protocol.md says why each condition is as it is. */
export function dynamoRecords({ client, table, stage, now }: DynamoOptions): Records {
  async function get(key: { pk: string }) {
    const { Item } = await client.send(
      new GetItemCommand({ TableName: table, Key: marshall(key), ConsistentRead: true }),
    );
    return Item;
  }

  const write = (key: Parameters<typeof transition>[2], change: Transition) => transition(client, table, key, change);

  async function queryOpen(condition: string, values: Record<string, string | number>, cursor: Cursor | undefined) {
    const { Items, LastEvaluatedKey } = await client.send(
      new QueryCommand({
        TableName: table,
        IndexName: 'open',
        KeyConditionExpression: condition,
        ExpressionAttributeValues: marshall(values),
        Limit: pageSize,
        ...(cursor === undefined ? {} : { ExclusiveStartKey: cursor as Record<string, never> }),
      }),
    );
    const keys = (Items ?? []).map((each) => readTaskKey(indexKey.parse(unmarshall(each)).pk));
    return { keys, cursor: LastEvaluatedKey as Cursor | undefined };
  }

  const records: Records = {
    shards,
    async read(key) {
      const stored = await get({ pk: taskKey(key) });
      const record = stored && toRecord(stored);
      return record !== undefined && record.expiresAt > now() ? record : undefined;
    },
    async readDedup(dedupKey) {
      const stored = await get({ pk: dedupKey });
      const parsed = stored && dedupItem.parse(unmarshall(stored));
      return parsed !== undefined && parsed.expiresAt > now() ? parsed : undefined;
    },
    create: (record, options) => createTask(client, table, record, options),
    async markSent(key, sends, dueAt) {
      await write(key, { when: { status: 'queued', sends }, set: { dueAt } });
    },
    countSend: (key, sends) => write(key, { when: { status: 'queued', sends }, add: { sends: 1 } }),
    setDue: (key, dueAt) => write(key, { when: { status: 'queued' }, set: { dueAt } }),
    start: (key, { startedAt, deadline, dueAt, epoch }) =>
      write(key, {
        when: { status: 'queued', attempt: key.attempt - 1 },
        set: { status: 'running', attempt: key.attempt, holder: key.holder, startedAt, deadline, dueAt, epoch },
        add: { revision: 1 },
        remove: ['progress'],
        isOwn: runsAs(key),
      }),
    progress: (key, progress) => write(key, { when: running(key), set: { progress }, add: { revision: 1 } }),
    finish: (key, outcome, finishedAt) =>
      write(key, {
        when: running(key),
        set: {
          status: outcome.kind,
          finishedAt,
          ...(outcome.kind === 'succeeded'
            ? { result: outcome.result }
            : { error: outcome.error, deadShard: deadShard(key.id) }),
        },
        add: { revision: 1 },
        remove: ['openShard'],
        isOwn: (record) =>
          record.attempt === key.attempt && record.holder === key.holder && record.status === outcome.kind,
      }),
    requeue: (key, why, { runAt, deadline }) =>
      write(key, {
        when: running(key),
        set: { status: 'queued', runAt, dueAt: runAt, deadline },
        add: { revision: 1, [why === 'failed' ? 'failures' : 'lostLeases']: 1 },
        remove: ['holder', 'progress'],
        isOwn: (record) => record.status === 'queued' && record.attempt === key.attempt,
      }),
    expire: (key, finishedAt) =>
      write(key, {
        when: { status: 'queued', deadline: key.deadline },
        set: { status: 'expired', finishedAt },
        add: { revision: 1 },
        remove: ['openShard'],
        isOwn: (record) => record.status === 'expired',
      }),
    async postpone(key, dueAt) {
      await write(key, { when: running(key), set: { dueAt } });
    },
    due: (shard, at, cursor) =>
      queryOpen('openShard = :shard AND dueAt <= :now', { ':shard': `open#${shard}`, ':now': at }, cursor),
    open: (shard, cursor) => queryOpen('openShard = :shard', { ':shard': `open#${shard}` }, cursor),
    ...dynamoSettings({ client, table, stage }),
  };
  return bounded('dynamodb', records);
}

function running(key: AttemptKey) {
  return { status: 'running', attempt: key.attempt, holder: key.holder };
}

function runsAs(key: AttemptKey): NonNullable<Transition['isOwn']> {
  return (record) => record.status === 'running' && record.attempt === key.attempt && record.holder === key.holder;
}

/** `T#<tenant>#<id>`: a tenant may contain `#`, an id never does. */
function readTaskKey(pk: string) {
  const at = pk.lastIndexOf('#');
  return { tenant: pk.slice(2, at), id: toTaskId(pk.slice(at + 1)) };
}
