import middy from '@middy/core';
import type { SQSBatchResponse } from 'aws-lambda';
import type { Deps } from '../operations/deps.ts';
import { type Reconciled, reconcile } from '../operations/reconcile.ts';

/** Called each minute by the schedule, and by SQS when somebody found something amiss; logs and returns what the run mended. */
export function scheduleHandler(deps: Omit<Deps, 'files'>) {
  return middy<unknown, Reconciled & SQSBatchResponse>().handler(async () => {
    const counts = await reconcile(deps);
    deps.log.info('reconciled', counts);
    return { ...counts, batchItemFailures: [] };
  });
}
