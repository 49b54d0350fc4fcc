import { setTimeout as delay } from 'node:timers/promises';
import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Reservation } from '../lambda/pool.ts';
import { messageOf } from '../stack-error.ts';
import { failedItems } from './batch-answer.ts';
import type { QueueMapping } from './queue-mapping.ts';

// Short of the vendor's 20, so that an idle mapping soon gives its place to whoever else waits for one.
const longPollSeconds = 5;
const maxReceive = 10;
const retryPauseMs = 500;

/**
 * Feeds a queue to a function until `signal` aborts; resolves when the last batch is settled.
 *
 * One loop receives; batches run beside it, never more than MaximumConcurrency at once. The place for an invocation and
 * a function instance are taken before the receive, so that no message waits for them while its visibility runs out:
 * that would burn one of its receives. An idle mapping holds a single instance's place.
 */
export async function pollQueue(
  mapping: QueueMapping,
  client: SQSClient,
  region: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let isFailing = false;
  while (!signal.aborted) {
    if (running.size >= mapping.maxConcurrency) {
      await Promise.race(running);
      continue;
    }
    let place: Reservation | undefined;
    try {
      place = await mapping.pool.reserve(signal);
      const messages = await receiveBatch(mapping, client, signal);
      isFailing = false;
      if (messages.length === 0) continue;
      const held = place;
      place = undefined;
      const batch = settleBatch(mapping, client, region, messages, held)
        .catch((error: unknown) => log(`${mapping.pool.definition.name}: cannot settle a batch: ${messageOf(error)}`))
        .finally(() => {
          held.release();
          running.delete(batch);
        });
      running.add(batch);
    } catch (error) {
      if (signal.aborted) break;
      if (!isFailing) log(`${mapping.queue.name}: cannot receive: ${messageOf(error)}`);
      isFailing = true;
      await delay(retryPauseMs);
    } finally {
      place?.release();
    }
  }
  await Promise.all(running);
}

// Without a window one receive is the batch. With one, receives go on until the batch is full or the window is over.
async function receiveBatch(mapping: QueueMapping, client: SQSClient, signal: AbortSignal): Promise<Message[]> {
  const batch: Message[] = [];
  let deadline = Number.POSITIVE_INFINITY;
  do {
    const waitSeconds = batch.length === 0 ? longPollSeconds : Math.max(0, Math.ceil((deadline - Date.now()) / 1000));
    const { Messages: received = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: mapping.queue.url,
        MaxNumberOfMessages: Math.min(maxReceive, mapping.batchSize - batch.length),
        WaitTimeSeconds: Math.min(longPollSeconds, waitSeconds),
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      }),
      { abortSignal: signal },
    );
    if (batch.length === 0) deadline = Date.now() + mapping.windowMs;
    batch.push(...received);
  } while (batch.length > 0 && batch.length < mapping.batchSize && Date.now() < deadline && !signal.aborted);
  return batch;
}

async function settleBatch(
  mapping: QueueMapping,
  client: SQSClient,
  region: string,
  messages: Message[],
  place: Reservation,
): Promise<void> {
  const outcome = await place.invoke(
    JSON.stringify({ Records: messages.map((message) => toRecord(message, mapping, region)) }),
  );
  // A function that threw leaves its batch to the visibility time-out.
  if (outcome.kind === 'failed') return;
  const ids = messages.map((message) => message.MessageId ?? '');
  const failed = mapping.reportsItemFailures ? failedItems(outcome.payload, ids) : new Set<string>();
  const done = messages.filter((message) => !failed.has(message.MessageId ?? ''));
  for (let from = 0; from < done.length; from += maxReceive) {
    const { Failed: refused = [] } = await client.send(
      new DeleteMessageBatchCommand({
        QueueUrl: mapping.queue.url,
        Entries: done
          .slice(from, from + maxReceive)
          .map((message, index) => ({ Id: String(index), ReceiptHandle: message.ReceiptHandle })),
      }),
    );
    if (refused.length > 0) throw new Error(`${refused.length} messages were not deleted: ${refused[0]?.Message}`);
  }
}

function toRecord(message: Message, mapping: QueueMapping, region: string): object {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
    name,
    {
      stringValue: value.StringValue,
      binaryValue: value.BinaryValue === undefined ? undefined : Buffer.from(value.BinaryValue).toString('base64'),
      stringListValues: [],
      binaryListValues: [],
      dataType: value.DataType,
    },
  ]);
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(attributes),
    md5OfBody: message.MD5OfBody,
    eventSource: 'aws:sqs',
    eventSourceARN: mapping.queue.arn,
    awsRegion: region,
  };
}
