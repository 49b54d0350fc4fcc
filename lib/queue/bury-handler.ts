import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { bury, buryUnreadable } from '../operations/bury.ts';
import type { EndDeps } from '../operations/end.ts';
import { logFailure } from '../operations/log-failure.ts';
import { readTaskMessage } from './task-message.ts';

/** The consumer of the dead-letter queues of all pools. A message stays in its queue until what it says has been taken care of. */
export function buryHandler(deps: EndDeps) {
  return middy<SQSEvent, SQSBatchResponse>().handler(async ({ Records }) => {
    const buried = await Promise.all(
      Records.map(async (record) => [record.messageId, await take(deps, record)] as const),
    );
    return { batchItemFailures: buried.filter(([, done]) => !done).map(([itemIdentifier]) => ({ itemIdentifier })) };
  });
}

async function take(deps: EndDeps, { messageId, body, eventSourceARN }: SQSRecord): Promise<boolean> {
  try {
    const message = readTaskMessage(body);
    if (message !== undefined) await bury(deps, message);
    else await buryUnreadable(deps, { id: messageId, body, queue: eventSourceARN.split(':').at(-1) ?? '' });
    return true;
  } catch (error) {
    logFailure(deps.log, 'a given-up message was not taken', error, { messageId });
    return false;
  }
}
