import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { v7 as uuid7 } from 'uuid';
import { dynamoRecords } from '../../lib/adapters/dynamo/records.ts';
import { awsClientTimes } from '../../lib/adapters/outage.ts';
import { RedisConnection } from '../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import type { Weir } from '../../lib/config.ts';
import { toTaskId } from '../../lib/domain/task-id.ts';
import { toEpochMs } from '../../lib/domain/time.ts';
import type { Deps } from '../../lib/operations/deps.ts';
import { Outlook } from '../../lib/operations/outlook.ts';
import type { Clock, Files, Log } from '../../lib/ports.ts';
import { awsClient } from './aws-client.ts';

/** Where a process of a test finds the servers and what was made for it there. */
export type Place = {
  readonly ports: Ports;
  readonly stage: string;
  readonly table: string;
  readonly queueUrl: string;
};
export type Ports = { readonly redis: number; readonly dynamodb: number; readonly sqsS3: number };

const clock: Clock = { now: () => toEpochMs(Date.now()), sleep: (ms) => sleep(ms) };
/** No task of these processes has a file. */
const files: Files = {
  ...{ put: unexpected, store: unexpected, look: unexpected, open: unexpected, keep: unexpected },
  remove: async () => undefined,
};

async function unexpected(): Promise<never> {
  throw new Error('expected no file');
}

/** The test's system as a process of its own wires it: its own clients to the same servers. `waitMs`: for each of them to answer. */
export function processDeps({ ports, stage, table, queueUrl }: Place, weir: Weir, log: Log, waitMs?: number) {
  const connection = new RedisConnection({ url: `redis://127.0.0.1:${ports.redis}`, deadlineMs: waitMs, log });
  const { startWindowMs } = weir.times;
  const gate = redisGate({ connection, keys: cellKeys(stage), limits: weir.limits, rates: weir.rates, startWindowMs });
  const times = {
    ...awsClientTimes,
    ...(waitMs === undefined ? {} : { requestHandler: { connectionTimeout: waitMs, requestTimeout: waitMs } }),
  };
  const client = new DynamoDBClient({ ...awsClient(ports.dynamodb), ...times });
  const sqs = new SQSClient({ ...awsClient(ports.sqsS3), ...times });
  const deps: Deps = {
    weir,
    gate,
    outlook: new Outlook({ gate, clock }),
    records: dynamoRecords({ client, table, stage, now: clock.now }),
    messages: sqsMessages(sqs, { p: queueUrl }),
    files,
    clock,
    log,
    metrics: { count: () => undefined },
    newId: () => toTaskId(uuid7()),
    newNonce: randomUUID,
    exit: () => process.kill(process.pid, 'SIGKILL'),
  };
  return { deps, client, close: () => [connection.discard(), client.destroy(), sqs.destroy()] };
}
