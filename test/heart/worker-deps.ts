import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { v7 as uuid7 } from 'uuid';
import * as z from 'zod';
import { dynamoRecords } from '../../lib/adapters/dynamo/records.ts';
import { awsClientTimes } from '../../lib/adapters/outage.ts';
import { RedisConnection } from '../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { checkConfig } from '../../lib/config.ts';
import { toTaskId } from '../../lib/domain/task-id.ts';
import { toEpochMs } from '../../lib/domain/time.ts';
import type { Deps } from '../../lib/operations/deps.ts';
import { Outlook } from '../../lib/operations/outlook.ts';
import type { Clock, Files, Log } from '../../lib/ports.ts';
import { defineTask, type TaskDefinition } from '../../lib/task.ts';
import { awsAt } from '../race/start.ts';
import { pool, type Start } from './start.ts';

const line = (message: string, fields = {}) => console.log(JSON.stringify({ ...fields, message }));
const log: Log = { info: line, warn: line, error: line };
const clock: Clock = { now: () => toEpochMs(Date.now()), sleep: (ms) => sleep(ms) };
const files: Files = {
  ...{ put: unexpected, store: unexpected, look: unexpected, open: unexpected, keep: unexpected, remove: unexpected },
};

async function unexpected(): Promise<never> {
  throw new Error('expected no file');
}

/** The test's system as its worker's process, or the thread in it, wires it: clients of its own to the same servers. */
export function openWorkerDeps({ ports, stage, table, queueUrl, task }: Start, run: TaskDefinition['run']) {
  const { timeoutMs, attempts } = task;
  const weir = checkConfig({
    pools: { p: pool },
    tasks: [defineTask({ api: 'g/a', pool: 'p', input: z.looseObject({}), timeoutMs, retry: { attempts }, run })],
  });
  const connection = new RedisConnection({ url: `redis://127.0.0.1:${ports.redis}`, log });
  const { startWindowMs } = weir.times;
  const gate = redisGate({ connection, keys: cellKeys(stage), limits: weir.limits, startWindowMs });
  const client = new DynamoDBClient({ ...awsAt(ports.dynamodb), ...awsClientTimes });
  const sqs = new SQSClient({ ...awsAt(ports.sqsS3), ...awsClientTimes });
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
  return { deps, close: () => [connection.discard(), client.destroy(), sqs.destroy()] };
}
