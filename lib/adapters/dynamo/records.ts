import { BatchGetItemCommand, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { toTaskId } from '../../domain/task-id.ts';
import {
  type End,
  type Outcome,
  openStatuses,
  type TaskRecord,
  type TaskStatus,
  withoutOldResult,
} from '../../domain/task-record.ts';
import type { EpochMs } from '../../domain/time.ts';
import type { AttemptKey, Cursor, Records } from '../../ports.ts';
import { bounded } from '../outage.ts';
import { dynamoSettings } from './cell-settings.ts';
import { createTask } from './create.ts';
import { dynamoDeadLetters } from './dead-letters.ts';
import { deadShard, type Item, ownShard, readTaskKey, shards, taskKey, toRecord } from './item.ts';
import { getItem } from './one-item.ts';
import { readMerged } from './pages.ts';
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
      const stored = await getItem(client, table, taskKey(key));
      const record = stored && toRecord(stored);
      return record !== undefined && record.expiresAt > now() ? withoutOldResult(record, now()) : undefined;
    },
    async readDedup(dedupKey) {
      const stored = await getItem(client, table, dedupKey);
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
    finish: (key, outcome, end) =>
      write(key, {
        ...ending(outcome.kind, end, outcomeOf(outcome, key)),
        when: running(key),
        isOwn: (record) =>
          record.attempt === key.attempt && record.holder === key.holder && endsSo(outcome.kind, end)(record),
      }),
    requeue: (key, why, { runAt, deadline }) =>
      write(key, {
        when: running(key),
        set: { status: 'queued', runAt, dueAt: runAt, deadline },
        add: { revision: 1, [why === 'failed' ? 'failures' : 'lostLeases']: 1 },
        remove: ['holder', 'progress'],
        isOwn: (record) =>
          record.status === 'queued' &&
          record.attempt === key.attempt &&
          record.runAt === runAt &&
          record.deadline === deadline,
      }),
    expire: (key, end) =>
      write(key, {
        ...ending('expired', end),
        when: { status: 'queued', deadline: key.deadline },
      }),
    cancel: (key, end, dueAt) =>
      write(key, {
        ...ending('cancelled', end, { dueAt }),
        when: { status: openStatuses },
        remove: [],
      }),
    bury: (key, send, dueAt) =>
      write(key, {
        when: { status: 'queued', burials: key.burials },
        set: { dueAt, buriedSend: send },
        add: { burials: 1 },
      }),
    giveUp: (key, error, end) =>
      write(key, {
        ...ending('failed', end, { error, deadShard: deadShard(key.id), burials: key.burials + 1 }),
        when: { status: 'queued', burials: key.burials },
      }),
    async lookAgain(key, status, dueAt) {
      await write(key, { when: { status, openShard: true }, set: { dueAt } });
    },
    forgetHolder: (key, holder) => write(key, { when: { status: 'cancelled', holder }, remove: ['holder'] }),
    close: (key, revision) => write(key, { when: { revision, openShard: true }, remove: ['openShard'] }),
    deliver: (key, seen, delivery, next) =>
      write(key, {
        when: { delivery: seen },
        set: { delivery, ...(typeof next === 'number' ? { dueAt: next } : {}) },
        add: { revision: 1 },
        remove: next === 'close' ? ['openShard'] : [],
        isOwn: (record) =>
          record.delivery?.attempts === delivery.attempts && record.delivery.lastAt === delivery.lastAt,
      }),
    async readMany(keys) {
      const read: Item[] = [];
      let asked = keys.map((key) => marshall({ pk: taskKey(key) }));
      while (asked.length > 0) {
        const { Responses, UnprocessedKeys } = await client.send(
          new BatchGetItemCommand({ RequestItems: { [table]: { Keys: asked, ConsistentRead: true } } }),
        );
        read.push(...(Responses?.[table] ?? []));
        asked = UnprocessedKeys?.[table]?.Keys ?? [];
      }
      const records = read.flatMap((each) => readable(each) ?? []).filter(({ expiresAt }) => expiresAt > now());
      return records.map((record) => withoutOldResult(record, now()));
    },
    async own(tenant, range, limit) {
      const hashes = Array.from({ length: shards }, (_, shard) => ownShard(tenant, shard));
      const own = { index: 'own', hash: 'ownShard', sort: 'id', shards: hashes, range };
      const { keys } = await readMerged(client, table, own, { limit });
      return keys.map((key) => readTaskKey(indexKey.parse(key).pk));
    },
    async postpone(key, dueAt) {
      await write(key, { when: running(key), set: { dueAt } });
    },
    due: (shard, at, cursor) =>
      queryOpen('openShard = :shard AND dueAt <= :now', { ':shard': `open#${shard}`, ':now': at }, cursor),
    open: (shard, cursor) => queryOpen('openShard = :shard', { ':shard': `open#${shard}` }, cursor),
    ...dynamoDeadLetters({ client, table, stage, now }),
    ...dynamoSettings({ client, table, stage }),
  };
  return bounded('dynamodb', records);
}

/** One record that cannot be read must not keep the others from it. */
function readable(stored: Item): TaskRecord | undefined {
  try {
    return toRecord(stored);
  } catch {
    return undefined;
  }
}

/** The last write of a task. It leaves the index of open tasks, unless somebody is to be told of its end: then it is due until that is done. */
function ending(status: TaskStatus, end: End, set: Record<string, unknown> = {}) {
  const { finishedAt, callbackUrl } = end;
  const tell = { dueAt: finishedAt, delivery: { status: 'pending', attempts: 0 } };
  return {
    set: { status, finishedAt, ...(callbackUrl === undefined ? {} : tell), ...set },
    add: { revision: 1 },
    remove: callbackUrl === undefined ? ['openShard'] : [],
    isOwn: endsSo(status, end),
  };
}

/** A repeat after a lost reply finds its own last write by the moment it named. */
function endsSo(status: TaskStatus, { finishedAt }: End): NonNullable<Transition['isOwn']> {
  return (record) => record.status === status && record.finishedAt === finishedAt;
}

function outcomeOf(outcome: Outcome, { id }: AttemptKey): Record<string, unknown> {
  if (outcome.kind === 'failed') return { error: outcome.error, ...(outcome.dead ? { deadShard: deadShard(id) } : {}) };
  const { result, resultUntil } = outcome;
  return {
    ...(typeof result === 'string' ? { result } : { resultFile: result }),
    ...(resultUntil === undefined ? {} : { resultUntil }),
  };
}

function running(key: AttemptKey) {
  return { status: 'running', attempt: key.attempt, holder: key.holder };
}

function runsAs(key: AttemptKey): NonNullable<Transition['isOwn']> {
  return (record) => record.status === 'running' && record.attempt === key.attempt && record.holder === key.holder;
}
