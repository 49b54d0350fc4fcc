import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CancellationReason,
  type DynamoDBClient,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { type TaskId, toTaskId } from '../../domain/task-id.ts';
import type { TaskRecord } from '../../domain/task-record.ts';
import type { EpochMs } from '../../domain/time.ts';
import { type Created, type Redriven, Unavailable } from '../../ports.ts';
import { isOutage } from '../outage.ts';
import { taskKey, toItem, ttl } from './item.ts';

const dedupItem = z.object({ taskId: z.string().transform(toTaskId), fingerprint: z.string() });

type Options = { seen?: TaskId | undefined; deadline: EpochMs };

/**
 * Creates task item and dedup item together; with `dead` also marks the dead letter of that id as redriven by this task. The transaction carries one
 * client token, so that repeating it after a lost reply has the effect of one; while the outcome stays unknown it is repeated until `deadline`, then
 * `Unavailable`: it may still have happened.
 */
export async function createTask(
  client: DynamoDBClient,
  table: string,
  record: TaskRecord,
  options: Options,
): Promise<Created>;
export async function createTask(
  client: DynamoDBClient,
  table: string,
  record: TaskRecord,
  options: Options & { dead: TaskId },
): Promise<Redriven>;
export async function createTask(
  client: DynamoDBClient,
  table: string,
  record: TaskRecord,
  { seen, dead, deadline }: Options & { dead?: TaskId },
): Promise<Redriven> {
  const input = transaction(table, record, seen, dead);
  for (let tries = 1; ; tries++) {
    try {
      await client.send(new TransactWriteItemsCommand(input));
      return { kind: 'created' };
    } catch (error) {
      const judged =
        error instanceof TransactionCanceledException
          ? judgeReasons(error.CancellationReasons ?? [], record)
          : undefined;
      if (judged !== undefined) return judged;
      if (!(error instanceof TransactionCanceledException) && !isOutage(error)) throw error;
      const pauseMs = Math.random() * Math.min(500, 20 * 2 ** tries);
      if (Date.now() + pauseMs >= deadline)
        throw new Unavailable('dynamodb', 'create had no answer before its deadline', error);
      await sleep(pauseMs);
    }
  }
}

function transaction(
  table: string,
  record: TaskRecord,
  seen: TaskId | undefined,
  dead: TaskId | undefined,
): TransactWriteItemsCommandInput {
  const { dedupKey, fingerprint, id, expiresAt, createdAt, tenant } = record;
  const free = ['attribute_not_exists(pk)', 'expiresAt <= :now', ...(seen === undefined ? [] : ['taskId = :seen'])];
  return {
    ClientRequestToken: randomUUID(),
    TransactItems: [
      { Put: { TableName: table, Item: toItem(record), ConditionExpression: 'attribute_not_exists(pk)' } },
      {
        Put: {
          TableName: table,
          Item: marshall({ pk: dedupKey, tenant, taskId: id, fingerprint, expiresAt, ttl: ttl(expiresAt) }),
          ConditionExpression: free.join(' OR '),
          ExpressionAttributeValues: marshall(
            seen === undefined ? { ':now': createdAt } : { ':now': createdAt, ':seen': seen },
          ),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      ...(dead === undefined ? [] : [{ Update: redrivenBy(table, record, dead) }]),
    ],
  };
}

function redrivenBy(TableName: string, { tenant, id }: TaskRecord, dead: TaskId) {
  return {
    TableName,
    Key: marshall({ pk: taskKey({ tenant, id: dead }) }),
    ConditionExpression: 'attribute_exists(deadShard)',
    UpdateExpression: 'SET redrivenAs = :id, revision = revision + :one REMOVE deadShard',
    ExpressionAttributeValues: marshall({ ':id': id, ':one': 1 }),
  };
}

/** Undefined: not decided (a conflict with another transaction, or a throttle), so worth a repeat. */
function judgeReasons(reasons: readonly CancellationReason[], record: TaskRecord): Redriven | undefined {
  const [task, dedup, dead] = reasons;
  if (dedup?.Code === 'ConditionalCheckFailed' && dedup.Item !== undefined) {
    const holder = dedupItem.parse(unmarshall(dedup.Item));
    return holder.taskId === record.id ? { kind: 'created' } : { kind: 'taken', ...holder };
  }
  // The task item can only be there by this same transaction's own earlier success, whose client token had been forgotten.
  if (task?.Code === 'ConditionalCheckFailed') return { kind: 'created' };
  if (dead?.Code === 'ConditionalCheckFailed') return { kind: 'gone' };
  const decided = reasons.find(
    ({ Code }) =>
      Code !== undefined &&
      !['None', 'TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'].includes(Code),
  );
  if (decided !== undefined) throw new Error(`creating a task was refused: ${decided.Code} ${decided.Message ?? ''}`);
  return undefined;
}
