import { randomUUID } from 'node:crypto';
import { CreateQueueCommand, DeleteMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { inject, onTestFinished } from 'vitest';
import * as z from 'zod';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { httpWebhooks } from '../../lib/adapters/webhook/webhooks.ts';
import { checkConfig } from '../../lib/config.ts';
import { deliveryQueue } from '../../lib/domain/delivery-schedule.ts';
import { webhookSecret } from '../../lib/domain/signing-keys.ts';
import { endOf, type Outcome, type TaskRecord } from '../../lib/domain/task-record.ts';
import { toEpochMs } from '../../lib/domain/time.ts';
import { type DeliverDeps, deliver } from '../../lib/operations/deliver.ts';
import type { Worked } from '../../lib/operations/work.ts';
import type { Records, TaskKey, Written } from '../../lib/ports.ts';
import { readEndMessage } from '../../lib/queue/task-message.ts';
import { defineTask } from '../../lib/task.ts';
import { awsClient } from './aws-client.ts';
import { receiveOne } from './receive.ts';
import { openReceiver } from './receiver.ts';
import { openRecords, taskRecord } from './records.ts';

export const master = 'a master secret of a test';
const weir = checkConfig({
  pools: { p: { running: 1, pending: 1 } },
  tasks: [defineTask({ api: 'g/a', pool: 'p', input: z.object({}), timeoutMs: 1_000, run: async () => null })],
});

/** What `deliver` needs, on the shared servers, with a clock that a test can move and a queue of its own. `trustedOrigins`: of its receivers. */
export async function openDeliveries(trustedOrigins: readonly string[], { deadlineMs = 5_000 } = {}) {
  const { records } = await openRecords();
  const sqs = new SQSClient(awsClient(inject('ports').sqsS3));
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `q-${randomUUID()}` }));
  onTestFinished(() => sqs.destroy());
  let aheadMs = 0;
  const counted: string[] = [];
  const deps: DeliverDeps = {
    weir,
    records,
    clock: { now: () => toEpochMs(Date.now() + aheadMs), sleep: async () => undefined },
    metrics: { count: (name, value, dimensions) => counted.push(`${name} ${value} ${dimensions?.outcome}`) },
    webhooks: httpWebhooks({ trustedOrigins, deadlineMs }),
    webhookSecret: async (tenant) => webhookSecret(master, tenant),
    baseUrl: 'https://weir.example/api',
  };
  return {
    deps,
    counted,
    messages: sqsMessages(sqs, { [deliveryQueue]: QueueUrl }, { deliverUrl: QueueUrl }),
    pass: (ms: number) => {
      aheadMs += ms;
    },
    /** A task that ends as `status`, to be told to `callbackUrl`. */
    async end(callbackUrl: string, status: 'succeeded' | 'failed' | 'cancelled' | 'expired'): Promise<TaskRecord> {
      const record = taskRecord({ callbackUrl, sends: 1 });
      await records.create(record, { deadline: toEpochMs(Date.now() + 10_000) });
      return endAs(records, record, status);
    },
    isOpen: async ({ id }: TaskKey): Promise<boolean> => {
      const pages = Array.from({ length: records.shards }, (_, shard) => records.open(shard));
      return (await Promise.all(pages)).some(({ keys }) => keys.some((key) => key.id === id));
    },
    receive: () => receiveOne(sqs, QueueUrl),
    remove: (ReceiptHandle: string) => sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })),
  };
}

export type Deliveries = Awaited<ReturnType<typeof openDeliveries>>;

async function endAs(records: Records, record: TaskRecord, status: TaskRecord['status']): Promise<TaskRecord> {
  const written = await write(records, record, status);
  if (written.kind !== 'written') throw new Error(`expected ${status} to be written`);
  return written.record;
}

async function write(records: Records, record: TaskRecord, status: TaskRecord['status']): Promise<Written> {
  const end = endOf(record, toEpochMs(Date.now()));
  const attempt = { ...record, attempt: 1, holder: 'h' };
  const { dueAt, deadline, epoch } = record;
  if (status === 'expired') return records.expire(record, end);
  await records.start(attempt, { startedAt: dueAt, deadline, dueAt, epoch });
  if (status === 'cancelled') return records.cancel(record, end, end.finishedAt);
  const error = { code: 'broken', message: 'it broke' };
  const outcome: Outcome =
    status === 'failed' ? { kind: status, error, dead: false } : { kind: 'succeeded', result: '{"text":"grüße"}' };
  return records.finish(attempt, outcome, end);
}

/** Takes messages off the queue of deliveries until none comes; answers what each led to. Deferred ones stay in it. */
export async function drainDeliveries(deliveries: Deliveries, deps = deliveries.deps): Promise<Worked[]> {
  const worked: Worked[] = [];
  for (let message = await deliveries.receive(); message !== undefined; message = await deliveries.receive()) {
    const key = readEndMessage(message.Body ?? '');
    if (key === undefined) throw new Error(`expected a message about an end, got ${message.Body}`);
    const outcome = await deliver(deps, key);
    worked.push(outcome);
    const handle = message.ReceiptHandle ?? '';
    if (outcome.kind === 'ack') await deliveries.remove(handle);
    else await deliveries.messages.setVisibility(deliveryQueue, handle, outcome.afterMs);
  }
  return worked;
}

/** Answers with each status in turn, and with the last from then on. */
export function answering(...statuses: number[]) {
  let calls = 0;
  return openReceiver((_, response) => {
    const status = statuses[Math.min(calls++, statuses.length - 1)] ?? 500;
    response.writeHead(status, status === 429 ? { 'retry-after': '120' } : {}).end('whatever the receiver writes');
  });
}

export async function deliveryOf({ deps }: Deliveries, key: Parameters<typeof deliver>[1]) {
  return (await deps.records.read(key))?.delivery;
}
