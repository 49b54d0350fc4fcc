// One process of a race: `node worker.ts`, started by race.ts and told what to do over its channel.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { v7 as uuid7 } from 'uuid';
import * as z from 'zod';
import { dynamoRecords } from '../../lib/adapters/dynamo/records.ts';
import { dynamoUploads } from '../../lib/adapters/dynamo/uploads.ts';
import { awsClientTimes } from '../../lib/adapters/outage.ts';
import { RedisConnection } from '../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { checkConfig } from '../../lib/config.ts';
import { toTaskId } from '../../lib/domain/task-id.ts';
import { day, toEpochMs } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import type { AdmitDeps } from '../../lib/operations/deps.ts';
import { Outlook } from '../../lib/operations/outlook.ts';
import type { Clock, Files, Log } from '../../lib/ports.ts';
import { defineTask } from '../../lib/task.ts';
import { awsAt, type Start } from './start.ts';

const clock: Clock = { now: () => toEpochMs(Date.now()), sleep: (ms) => sleep(ms) };
const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
/** No post of a race has a file. */
const files: Files = {
  ...{ put: unexpected, store: unexpected, look: unexpected, open: unexpected, keep: unexpected },
  remove: async () => undefined,
};

async function unexpected(): Promise<never> {
  throw new Error('expected no file');
}

/** As cold as a Lambda that has just started: nothing is connected before the first post asks. */
const perDay = { algorithm: 'token-bucket', periodMs: day } as const;

function openSystem({ ports, stage, table, queueUrl, limit, by }: Start) {
  const weir = checkConfig({
    pools: { p: { running: by === 'pool' ? limit : 500, pending: 0 } },
    rates: by === 'pool' ? {} : { r: { identity: 'global', ...perDay, limit } },
    tasks: [defineTask({ api: 'g/a', pool: 'p', input: z.looseObject({}), timeoutMs: 1_000, run: async () => null })],
  });
  // Eight processes share the cores of the machine with the servers: a second may not be enough to connect.
  const connection = new RedisConnection({ url: `redis://127.0.0.1:${ports.redis}`, deadlineMs: 10_000, log: silent });
  const { startWindowMs } = weir.times;
  const gate = redisGate({ connection, keys: cellKeys(stage), limits: weir.limits, rates: weir.rates, startWindowMs });
  const times = { ...awsClientTimes, requestHandler: { connectionTimeout: 10_000, requestTimeout: 10_000 } };
  const client = new DynamoDBClient({ ...awsAt(ports.dynamodb), ...times });
  const sqs = new SQSClient({ ...awsAt(ports.sqsS3), ...times });
  const deps: AdmitDeps = {
    weir,
    gate,
    outlook: new Outlook({ gate, clock }),
    records: dynamoRecords({ client, table, stage, now: clock.now }),
    messages: sqsMessages(sqs, { p: queueUrl }),
    files,
    uploads: dynamoUploads(client, table),
    clock,
    log: silent,
    metrics: { count: () => undefined },
    newId: () => toTaskId(uuid7()),
    newNonce: randomUUID,
    exit: () => process.exit(1),
  };
  return { deps, close: () => [connection.discard(), client.destroy(), sqs.destroy()] };
}

async function post({ weir, ...deps }: AdmitDeps, number: number): Promise<string> {
  const task = weir.tasks['g/a'];
  if (task === undefined) throw new Error('expected api g/a');
  const submission = { kind: 'read', content: { input: { number }, files: [], options: {} } } as const;
  const request = { tenant: `t${number % 5}`, ip: `192.0.2.${number % 7}`, task, submission } as const;
  const admission = await admit({ weir, ...deps }, request);
  return admission.kind === 'unavailable' ? `unavailable (${admission.reason})` : admission.kind;
}

let next: ReturnType<typeof openSystem> | undefined;

process.on('message', async (message: Start | { posts: number[] }) => {
  if ('stage' in message) {
    next?.close();
    next = openSystem(message);
    process.send?.('ready');
    return;
  }
  const { deps } = next ?? { deps: undefined };
  if (deps === undefined) throw new Error('expected a system to post to');
  const answers = await Promise.all(
    message.posts.map((number) => post(deps, number).catch((error: unknown) => `threw ${error}`)),
  );
  process.send?.({ answers });
});
process.once('disconnect', () => process.exit(0));
