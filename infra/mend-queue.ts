import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';
import { SourceQueue } from './source-queue.ts';

/** A rebuild waits 15 s before it reads, and then puts back every open record's seat. */
export const reconcileTimeoutMs = 300_000;
/** A wake-up that failed this often is no news any more: the schedule starts `reconcile` each minute. */
const maxReceiveCount = 5;

/** Wakes `reconcile` between two minutes: whoever finds that the cache lost its data sends one message. */
export class MendQueue extends SourceQueue {
  constructor(scope: Construct, id: string, stage: string) {
    super(scope, id, {
      queueName: `weir-${stage}-mend`,
      functionTimeoutMs: reconcileTimeoutMs,
      maxReceiveCount,
      alarm: {
        name: `weir-${stage}-mend-dead-letters`,
        runbook: 'mend-dead-letters',
        meaning: 'reconcile was woken and failed, five times for one message',
      },
    });
  }

  /** Wakes `reconcile`. */
  grantSend(fn: IGrantable): Pick<Variables<'admit'>, 'WEIR_MEND_QUEUE_URL'> {
    allow(fn, ['sqs:SendMessage'], [this.queue.queueArn]);
    return { WEIR_MEND_QUEUE_URL: this.queue.queueUrl };
  }
}
