import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Messages, Queues } from '../../ports.ts';
import { bounded } from '../outage.ts';

/** While something is amiss every request finds it: one wake-up in this time is enough. */
const wakeAgainMs = 5_000;

/**
 * SQS behind the `Messages` port. `queueUrls`: pool name → URL of its work queue; `mendUrl`: of the queue that wakes reconcile; `deliverUrl`: of the one
 * whose messages tell callbacks of an end.
 */
export function sqsMessages(
  client: SQSClient,
  queueUrls: Readonly<Record<string, string>>,
  { mendUrl, deliverUrl }: { mendUrl?: string | undefined; deliverUrl?: string | undefined } = {},
): Messages {
  let wokenAt = Number.NEGATIVE_INFINITY;
  const urlOf = (pool: string) => {
    const url = queueUrls[pool];
    if (url === undefined)
      throw new Error(`expected a queue of pool ${pool}, know ${Object.keys(queueUrls).join(', ')}`);
    return url;
  };
  return bounded('sqs', {
    async send(pool, { tenant, id, send }, group) {
      const MessageBody = JSON.stringify({ v: 1, tenant, id, send });
      await client.send(new SendMessageCommand({ QueueUrl: urlOf(pool), MessageBody, MessageGroupId: group }));
    },
    async wakeReconcile() {
      if (mendUrl === undefined || performance.now() - wokenAt < wakeAgainMs) return;
      wokenAt = performance.now();
      await client.send(new SendMessageCommand({ QueueUrl: mendUrl, MessageBody: '{"v":1}' }));
    },
    async announce({ tenant, id }, group) {
      if (deliverUrl === undefined) throw new Error('expected the URL of the queue of deliveries');
      await client.send(
        new SendMessageCommand({
          QueueUrl: deliverUrl,
          MessageBody: JSON.stringify({ v: 1, tenant, id }),
          MessageGroupId: group,
        }),
      );
    },
    async setVisibility(pool, receiptHandle, ms) {
      const seconds = Math.min(43_200, Math.max(0, Math.ceil(ms / 1_000)));
      await client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: urlOf(pool),
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: seconds,
        }),
      );
    },
  });
}

/** Counts what waits in the work queues and their dead-letter queues, by pool; approximate, as SQS counts. */
export function sqsQueues(
  client: SQSClient,
  queueUrls: Readonly<Record<string, string>>,
  deadUrls: Readonly<Record<string, string>>,
): Queues {
  const read = async (
    QueueUrl: string,
    name: 'ApproximateNumberOfMessages' | 'ApproximateNumberOfMessagesNotVisible',
  ) => {
    const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [name] }));
    return Number(Attributes?.[name] ?? 0);
  };
  return bounded('sqs', {
    async count() {
      const counts = Object.entries(deadUrls).map(async ([pool, deadUrl]) => {
        const [invisible, dead] = await Promise.all([
          read(queueUrls[pool] ?? deadUrl, 'ApproximateNumberOfMessagesNotVisible'),
          read(deadUrl, 'ApproximateNumberOfMessages'),
        ]);
        return [pool, { invisible, dead }] as const;
      });
      return Object.fromEntries(await Promise.all(counts));
    },
  });
}
