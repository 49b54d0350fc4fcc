import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, DeleteMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { inject, onTestFinished } from 'vitest';
import * as z from 'zod';
import { dynamoUploads } from '../../lib/adapters/dynamo/uploads.ts';
import { awsClientTimes } from '../../lib/adapters/outage.ts';
import { s3Files } from '../../lib/adapters/s3/files.ts';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { checkConfig, type WeirConfig } from '../../lib/config.ts';
import { toTaskId } from '../../lib/domain/task-id.ts';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { addMs, toEpochMs } from '../../lib/domain/time.ts';
import type { AdmitRequest, Options, Submission } from '../../lib/operations/admission.ts';
import { admit } from '../../lib/operations/admit.ts';
import { Outlook } from '../../lib/operations/outlook.ts';
import { type Delivery, type Worked, work } from '../../lib/operations/work.ts';
import type { Clock } from '../../lib/ports.ts';
import { defineTask, type TaskDefinition } from '../../lib/task.ts';
import { awsClient } from './aws-client.ts';
import { newTaskId, openGate, silent } from './gate.ts';
import { withHeart } from './heart.ts';
import { receiveOne } from './receive.ts';
import { openRecords } from './records.ts';

type Run = TaskDefinition['run'];

/** A system of its own on the shared servers: one pool `p`, one api `g/a` that takes any input and runs as the test says. */
export async function openSystem(
  options: {
    run?: Run;
    pool?: Partial<WeirConfig['pools'][string]>;
    task?: Partial<TaskDefinition>;
    ip?: WeirConfig['ip'];
    rates?: WeirConfig['rates'];
    hooks?: WeirConfig['hooks'];
    epoch?: number | null;
  } = {},
) {
  const config = systemConfig(options);
  const weir = checkConfig(config);
  const { gate, connection, stage } = await openGate(weir.limits, {
    epoch: options.epoch === undefined ? 1 : options.epoch,
    rates: weir.rates,
  });
  const { records, client, table } = await openRecords();
  const sqs = new SQSClient({ ...awsClient(inject('ports').sqsS3), ...awsClientTimes });
  const s3 = new S3Client({ ...awsClient(inject('ports').s3), ...awsClientTimes, forcePathStyle: true });
  const bucket = `b-${randomUUID()}`;
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `q-${randomUUID()}` }));
  onTestFinished(() => {
    sqs.destroy();
    s3.destroy();
  });
  const exits: string[] = [];
  /** What was counted: `burials_total 1 due`. */
  const counted: string[] = [];
  const clock: Clock = { now: () => toEpochMs(Date.now()), sleep: (ms) => sleep(ms) };
  const deps = withHeart({
    weir,
    gate,
    outlook: new Outlook({ gate, clock }),
    records,
    messages: sqsMessages(sqs, { p: QueueUrl }),
    files: s3Files(s3, bucket),
    uploads: dynamoUploads(client, table),
    clock,
    log: silent,
    metrics: {
      count: (name, value, dimensions = {}) =>
        counted.push([name, value, Object.values(dimensions).join(' ')].join(' ')),
    },
    newId: newTaskId,
    newNonce: randomUUID,
    exit: (because) => exits.push(because),
  });
  const queue = openQueue(sqs, QueueUrl);
  const objects = async () => {
    const keys: string[] = [];
    for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket }))
      keys.push(...Contents.map(({ Key = '' }) => Key));
    return keys;
  };
  return { deps, connection, stage, client, table, queue, objects, exits, counted, s3, bucket };
}

export type System = Awaited<ReturnType<typeof openSystem>>;

function systemConfig({
  run,
  pool,
  task,
  ip,
  rates,
  hooks,
}: {
  run?: Run;
  pool?: object;
  task?: Partial<TaskDefinition>;
  ip?: WeirConfig['ip'];
  rates?: WeirConfig['rates'];
  hooks?: WeirConfig['hooks'];
}): WeirConfig {
  const definition = defineTask({
    api: 'g/a',
    pool: 'p',
    input: z.looseObject({}),
    files: { document: { mediaTypes: ['text/plain'], maxBytes: 1_000_000, required: false } },
    timeoutMs: 20_000,
    run: run ?? (async () => ({ done: true })),
  });
  return {
    pools: { p: { running: 2, pending: 3, leaseMs: 3_000, heartbeatMs: 1_000, ...pool } },
    tasks: [{ ...definition, ...task }],
    ...(ip === undefined ? {} : { ip }),
    ...(rates === undefined ? {} : { rates }),
    ...(hooks === undefined ? {} : { hooks }),
  };
}

/** The pool's queue as a worker's event source sees it. */
function openQueue(sqs: SQSClient, QueueUrl: string) {
  const body = z.object({ tenant: z.string(), id: z.string().transform(toTaskId), send: z.int() });
  return {
    url: QueueUrl,
    /** One message, or none after a second without one. */
    async receive(): Promise<Delivery | undefined> {
      const message = await receiveOne(sqs, QueueUrl);
      if (message === undefined) return undefined;
      return {
        message: body.parse(JSON.parse(message.Body ?? '')),
        receiptHandle: message.ReceiptHandle ?? '',
        receiveCount: Number(message.Attributes?.ApproximateReceiveCount),
      };
    },
    async remove(delivery: Delivery): Promise<void> {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: delivery.receiptHandle }));
    },
  };
}

/** Works messages off until none comes for a second; answers what each led to. */
export async function drain({ deps, queue }: System): Promise<Worked[]> {
  const worked: Worked[] = [];
  const pool = deps.weir.pools.p;
  if (pool === undefined) throw new Error('expected pool p');
  for (let delivery = await queue.receive(); delivery !== undefined; delivery = await queue.receive()) {
    const outcome = await work(deps, pool, delivery);
    worked.push(outcome);
    if (outcome.kind === 'ack') await queue.remove(delivery);
    else await deps.messages.setVisibility('p', delivery.receiptHandle, outcome.afterMs);
  }
  return worked;
}

/** A task that was admitted just now. */
export async function accept(system: Pick<System, 'deps'>, input: unknown = {}): Promise<TaskRecord> {
  const admission = await admit(system.deps, post(system, input));
  if (admission.kind !== 'admitted') throw new Error(`expected admitted, got ${JSON.stringify(admission)}`);
  return admission.record;
}

/** Its message, as a worker receives it. */
export async function take({ deps, queue }: Pick<System, 'deps' | 'queue'>) {
  const delivery = await queue.receive();
  const pool = deps.weir.pools.p;
  if (delivery === undefined || pool === undefined) throw new Error('expected a message of pool p');
  return { delivery, pool };
}

/** The same system so many ms later, as far as its clock goes: leases and due moments of DynamoDB have passed, those of Redis have not. */
export function later({ deps }: Pick<System, 'deps'>, ms: number): System['deps'] {
  return { ...deps, clock: { ...deps.clock, now: () => addMs(deps.clock.now(), ms) } };
}

/** A post to `g/a`: JSON alone, or with one text file. */
export function post(
  { deps }: Pick<System, 'deps'>,
  input: unknown,
  over: Partial<AdmitRequest> & { file?: SubmittedBytes; options?: Options } = {},
): AdmitRequest {
  const { file, options = {}, ...rest } = over;
  const task = deps.weir.tasks['g/a'];
  if (task === undefined) throw new Error('expected api g/a');
  const content = { input: input as never, files: file === undefined ? [] : [file], options };
  const submission = { kind: 'read' as const, content };
  return { tenant: 't', ip: '192.0.2.1', task, submission, ...rest };
}

type SubmittedBytes = Submission['files'][number];

/** Nothing is held: no seat, no slot, no holder. */
export async function heldLeases(system: CellOf): Promise<string[]> {
  return keysOf(system, /^(seats|slots|holders)/);
}

/** As if those that match, without the cell's prefix, had lapsed. Answers how many there were. */
export async function deleteKeys(system: CellOf, which: RegExp): Promise<number> {
  const keys = await keysOf(system, which);
  const prefix = prefixOf(system);
  await system.connection.call('forget', async (client) => {
    for (const key of keys) await client.del(prefix + key);
  });
  return keys.length;
}

type CellOf = Pick<System, 'connection' | 'stage'>;
const prefixOf = ({ stage }: CellOf) => `{weir:${stage}:0}:`;

async function keysOf(system: CellOf, which: RegExp): Promise<string[]> {
  const prefix = prefixOf(system);
  const keys = await system.connection.call('keys', async (client) => client.nodes('master')[0]?.keys(`${prefix}*`));
  return (keys ?? []).map((key) => key.slice(prefix.length)).filter((key) => which.test(key));
}
