import { CreateQueueCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSRecord } from 'aws-lambda';
import { expect, inject, test } from 'vitest';
import { sqsMessages } from '../../lib/adapters/sqs/messages.ts';
import type { Delivery, Worked } from '../../lib/operations/work.ts';
import { queueHandler } from '../../lib/queue/queue-handler.ts';
import { readTaskMessage } from '../../lib/queue/task-message.ts';
import { awsClient } from '../support/aws-client.ts';
import { newTaskId, silent } from '../support/gate.ts';

async function openQueue() {
  const client = new SQSClient(awsClient(inject('ports').sqsS3));
  const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: `q-${newTaskId()}` }));
  const messages = sqsMessages(client, { p: QueueUrl });
  const receive = async (): Promise<SQSRecord | undefined> => {
    const { Messages } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl,
        VisibilityTimeout: 30,
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
      }),
    );
    const message = Messages?.[0];
    if (message === undefined) return undefined;
    return {
      messageId: message.MessageId ?? '',
      receiptHandle: message.ReceiptHandle ?? '',
      body: message.Body ?? '',
      attributes: { ApproximateReceiveCount: message.Attributes?.ApproximateReceiveCount ?? '' } as never,
      messageAttributes: {},
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn',
      awsRegion: 'eu-central-1',
    };
  };
  return {
    messages,
    receive,
    send: (MessageBody: string) => client.send(new SendMessageCommand({ QueueUrl, MessageBody })),
    async handle(records: SQSRecord[], run: (delivery: Delivery) => Promise<Worked>): Promise<string[]> {
      const handler = queueHandler({ messages, log: silent }, { queue: 'p', read: readTaskMessage }, run);
      const { batchItemFailures } = await handler({ Records: records }, {} as Context);
      return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
    },
  };
}

function body(): string {
  return JSON.stringify({ v: 1, tenant: 't', id: newTaskId(), send: 1 });
}

test('of a batch only what did not surely succeed is reported, each by its own id', async () => {
  const queue = await openQueue();
  const outcomes: (Worked | Error)[] = [
    { kind: 'ack', because: 'succeeded' },
    { kind: 'defer', because: 'busy', afterMs: 1_000 },
    new Error('broken'),
  ];
  for (const _ of outcomes) await queue.send(body());
  const records: SQSRecord[] = [];
  for (const _ of outcomes) records.push((await queue.receive()) as SQSRecord);
  const failed = await queue.handle(records, async ({ receiptHandle }) => {
    const outcome = outcomes[records.findIndex((record) => record.receiptHandle === receiptHandle)];
    if (outcome === undefined || outcome instanceof Error) throw outcome;
    return outcome;
  });
  expect(failed).toEqual([records[1]?.messageId, records[2]?.messageId]);
});

test('a deferred message comes back after its own time, not after its visibility time-out', async () => {
  const queue = await openQueue();
  await queue.send(body());
  const record = (await queue.receive()) as SQSRecord;
  await queue.handle([record], async () => ({ kind: 'defer', because: 'busy', afterMs: 1_000 }));
  await expect.poll(queue.receive, { timeout: 5_000 }).toMatchObject({ messageId: record.messageId });
});

test.each(['no json', '{}', '{"v":2,"tenant":"t","id":"x","send":1}', '[]'])(
  'a body that cannot be read (%s) runs nothing and uses up its receives soon',
  async (unreadable) => {
    const queue = await openQueue();
    await queue.send(unreadable);
    const record = (await queue.receive()) as SQSRecord;
    const failed = await queue.handle([record], () => Promise.reject(new Error('it ran')));
    expect(failed).toEqual([record.messageId]);
    await expect.poll(queue.receive, { timeout: 5_000 }).toMatchObject({ messageId: record.messageId });
  },
);
