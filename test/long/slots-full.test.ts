import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { expect, inject, test } from 'vitest';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import { second } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { changeLimits } from '../../lib/operations/limits.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { work } from '../../lib/operations/work.ts';
import { readTaskMessage } from '../../lib/queue/task-message.ts';
import { awsClient } from '../support/aws-client.ts';
import { openSystem, post } from '../support/deps.ts';
import { newTaskId } from '../support/gate.ts';

const maxReceiveCount = 4;
const visibilityMs = 3 * second;
const tasks = 12;

/** A queue with the redrive policy of a deployed one, and consumers that poll it as an event source does. */
async function openQueues() {
  const client = new SQSClient(awsClient(inject('ports').sqsS3));
  const make = async (Attributes: Record<string, string>) => {
    const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: `q-${newTaskId()}`, Attributes }));
    return QueueUrl;
  };
  const attribute = async (QueueUrl: string, name: 'QueueArn' | 'ApproximateNumberOfMessages') =>
    (await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [name] }))).Attributes?.[name] ?? '';
  const dead = await make({});
  const deadLetterTargetArn = await attribute(dead, 'QueueArn');
  const queue = await make({
    VisibilityTimeout: String(visibilityMs / second),
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount }),
  });
  return { client, queue, deadCount: async () => Number(await attribute(dead, 'ApproximateNumberOfMessages')) };
}

test('slots full for ten times what would use up every receive: no dead letter, no attempt counted, and then all run', async () => {
  const { client, queue, deadCount } = await openQueues();
  const system = await openSystem({ pool: { running: 4, pending: tasks, leaseMs: visibilityMs, heartbeatMs: second } });
  const { weir } = system.deps;
  const deps = {
    ...system.deps,
    weir: { ...weir, times: { ...weir.times, maxReceiveCount } },
    messages: sqsMessages(client, { p: queue }),
  };
  const pool = weir.pools.p;
  if (pool === undefined) throw new Error('expected pool p');
  const close = { how: 'replace' as const, dryRun: false, by: 'test' };
  await changeLimits(deps, { ...close, body: { pools: { p: { running: 0, pending: tasks } } } });
  const admitted = await Promise.all(Array.from({ length: tasks }, (_, n) => admit(deps, post({ deps }, { n }))));
  const records = admitted.flatMap((each) => (each.kind === 'admitted' ? [each.record] : []));
  expect(records).toHaveLength(tasks);

  let stop = false;
  let received = 0;
  const consume = async () => {
    while (!stop) {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: queue,
          WaitTimeSeconds: 1,
          MessageSystemAttributeNames: ['ApproximateReceiveCount'],
        }),
      );
      for (const { Body = '', ReceiptHandle: receiptHandle = '', Attributes } of Messages) {
        const message = readTaskMessage(Body);
        if (message === undefined) throw new Error(`expected a message of a task, got ${Body}`);
        received++;
        const receiveCount = Number(Attributes?.ApproximateReceiveCount);
        const worked = await work(deps, pool, { message, receiptHandle, receiveCount });
        if (worked.kind === 'ack')
          await client.send(new DeleteMessageCommand({ QueueUrl: queue, ReceiptHandle: receiptHandle }));
        else await deps.messages.setVisibility('p', receiptHandle, worked.afterMs);
      }
    }
  };
  const consumers = Array.from({ length: 8 }, consume);
  const until = performance.now() + 10 * maxReceiveCount * visibilityMs;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, second));
    await reconcile(deps);
  }
  expect(received).toBeGreaterThan(10 * maxReceiveCount * tasks * 0.2);
  expect(await deadCount()).toBe(0);
  for (const record of await deps.records.readMany(records))
    expect(record).toMatchObject({ status: 'queued', attempt: 0, failures: 0, lostLeases: 0, burials: 0 });

  await changeLimits(deps, { ...close, body: {} });
  const statuses = async () =>
    (await deps.records.readMany(records)).map(({ status, attempt }) => `${status} ${attempt}`);
  await expect
    .poll(
      async () => {
        await reconcile(deps);
        return new Set(await statuses());
      },
      { timeout: 120_000, interval: 500 },
    )
    .toEqual(new Set(['succeeded 1']));
  stop = true;
  await Promise.all(consumers);
  expect(await deadCount()).toBe(0);
  console.log(`${tasks} tasks, ${received} receives over ${10 * maxReceiveCount * visibilityMs} ms`);
}, 400_000);
