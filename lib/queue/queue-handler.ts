import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { Worked } from '../operations/work.ts';
import type { Log, Messages, TaskKey } from '../ports.ts';

/** Where messages come from, by the name `Messages` knows the queue by, and how a body is read: undefined where it cannot be. */
export type Source<Message extends TaskKey> = { readonly queue: string; read(body: string): Message | undefined };

/** One message as SQS delivered it. `receiveCount` is 1 the first time. */
export type Received<Message extends TaskKey> = {
  readonly message: Message;
  readonly receiptHandle: string;
  readonly receiveCount: number;
};

type Run<Message extends TaskKey> = (received: Received<Message>) => Promise<Worked>;

/** A body that cannot be read will not change: its receives are used up soon, so that it reaches the dead-letter queue within minutes. */
const unreadableAgainMs = 1_000;

/**
 * Runs each message by itself and reports those that must come back: a deferred one after its own time, one whose run threw after its visibility
 * time-out, one that cannot be read every second until SQS moves it to the dead-letter queue. A message counts as failed unless it surely succeeded.
 */
export function queueHandler<Message extends TaskKey>(
  deps: { messages: Messages; log: Log },
  source: Source<Message>,
  run: Run<Message>,
) {
  return middy<SQSEvent, SQSBatchResponse>().handler(async ({ Records }) => {
    const handled = await Promise.all(
      Records.map(async (record) => [record.messageId, await handle(deps, source, record, run)] as const),
    );
    return { batchItemFailures: handled.filter(([, done]) => !done).map(([itemIdentifier]) => ({ itemIdentifier })) };
  });
}

async function handle<Message extends TaskKey>(
  { messages, log }: { messages: Messages; log: Log },
  { queue, read }: Source<Message>,
  record: SQSRecord,
  run: Run<Message>,
): Promise<boolean> {
  try {
    const message = read(record.body);
    if (message === undefined) {
      log.error('message cannot be read', { messageId: record.messageId });
      await messages.setVisibility(queue, record.receiptHandle, unreadableAgainMs);
      return false;
    }
    const receiveCount = Number(record.attributes.ApproximateReceiveCount);
    const worked = await run({ message, receiptHandle: record.receiptHandle, receiveCount });
    log.info('message', { taskId: message.id, outcome: worked.kind, because: worked.because });
    if (worked.kind === 'ack') return true;
    await messages.setVisibility(queue, record.receiptHandle, worked.afterMs);
  } catch (error) {
    log.error('message failed', {
      messageId: record.messageId,
      reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  return false;
}
