import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { inject, onTestFinished } from 'vitest';
import { dynamoRecords } from '../../lib/adapters/dynamo/records.ts';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { addMs, day, hour, toEpochMs } from '../../lib/domain/time.ts';
import type { Records } from '../../lib/ports.ts';
import { awsClient } from './aws-client.ts';
import { newTaskId, tiersFor } from './gate.ts';

/** A table of its own on the shared server, with the indexes of the deployed one. */
export async function openRecords(): Promise<{ records: Records; client: DynamoDBClient; table: string }> {
  const client = new DynamoDBClient(awsClient(inject('ports').dynamodb));
  onTestFinished(() => client.destroy());
  const table = `t-${randomUUID()}`;
  const index = (IndexName: string, hash: string, range: string) => ({
    IndexName,
    KeySchema: [
      { AttributeName: hash, KeyType: 'HASH' as const },
      { AttributeName: range, KeyType: 'RANGE' as const },
    ],
    Projection: { ProjectionType: 'KEYS_ONLY' as const },
  });
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'openShard', AttributeType: 'S' },
        { AttributeName: 'dueAt', AttributeType: 'N' },
        { AttributeName: 'deadShard', AttributeType: 'S' },
        { AttributeName: 'finishedAt', AttributeType: 'N' },
        { AttributeName: 'ownShard', AttributeType: 'S' },
        { AttributeName: 'id', AttributeType: 'S' },
      ],
      GlobalSecondaryIndexes: [
        index('open', 'openShard', 'dueAt'),
        index('dead', 'deadShard', 'finishedAt'),
        index('own', 'ownShard', 'id'),
      ],
    }),
  );
  return { records: dynamoRecords({ client, table, stage: 'test', now: () => toEpochMs(Date.now()) }), client, table };
}

/** A queued task as `create` writes it, each field as asked. */
export function taskRecord(over: Partial<TaskRecord> = {}): TaskRecord {
  const id = over.id ?? newTaskId();
  const now = toEpochMs(Date.now());
  return {
    tenant: 't',
    id,
    api: 'g/a',
    pool: 'p',
    status: 'queued',
    attempt: 0,
    failures: 0,
    lostLeases: 0,
    burials: 0,
    deadline: addMs(now, hour),
    dueAt: now,
    sends: 1,
    revision: 1,
    epoch: 1,
    permits: 1,
    tiers: tiersFor(),
    input: '{}',
    inputDigest: 'd'.repeat(64),
    files: [],
    dedupKey: `D#t#f#${id}`,
    fingerprint: `sha256:${id}`,
    reuseMs: 300_000,
    createdAt: now,
    expiresAt: addMs(now, day),
    ...over,
  };
}
