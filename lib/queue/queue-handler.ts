import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { toTaskId } from '../domain/task-id.ts';
import type { Delivery, Worked } from '../operations/work.ts';
import type { Log, Messages } from '../ports.ts';

const body = z.object({
  v: z.literal(1),
  tenant: z.string().min(1),
  id: z.string().transform(toTaskId),
  send: z.int().min(1),
});

/** A body that cannot be read will not change: its receives are used up soon, so that it reaches the dead-letter queue within minutes. */
const unreadableAgainMs = 1_000;

/**
 * Runs each message by itself and reports those that must come back: a deferred one after its own time, one whose run threw after its visibility
 * time-out, one that cannot be read every second until SQS moves it to the dead-letter queue. A message counts as failed unless it surely succeeded.
 */
export function queueHandler(
  deps: { messages: Messages; log: Log },
  pool: string,
  run: (delivery: Delivery) => Promise<Worked>,
) {
  return middy<SQSEvent, SQSBatchResponse>().handler(async ({ Records }) => {
    const handled = await Promise.all(
      Records.map(async (record) => [record.messageId, await handle(deps, pool, record, run)] as const),
    );
    return { batchItemFailures: handled.filter(([, done]) => !done).map(([itemIdentifier]) => ({ itemIdentifier })) };
  });
}

async function handle(
  { messages, log }: { messages: Messages; log: Log },
  pool: string,
  record: SQSRecord,
  run: (delivery: Delivery) => Promise<Worked>,
): Promise<boolean> {
  try {
    const message = parse(record.body);
    if (message === undefined) {
      log.error('message cannot be read', { messageId: record.messageId });
      await messages.setVisibility(pool, record.receiptHandle, unreadableAgainMs);
      return false;
    }
    const receiveCount = Number(record.attributes.ApproximateReceiveCount);
    const worked = await run({ message, receiptHandle: record.receiptHandle, receiveCount });
    log.info('message', { taskId: message.id, outcome: worked.kind, because: worked.because });
    if (worked.kind === 'ack') return true;
    await messages.setVisibility(pool, record.receiptHandle, worked.afterMs);
  } catch (error) {
    log.error('message failed', {
      messageId: record.messageId,
      reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  return false;
}

function parse(text: string): z.output<typeof body> | undefined {
  try {
    return body.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
