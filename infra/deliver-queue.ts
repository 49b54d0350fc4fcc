import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { deliveryDeadlineMs, mostDeliveryTries } from '../lib/domain/delivery-schedule.ts';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';
import { SourceQueue } from './source-queue.ts';

/** A post, with time for the record before and after it. */
export const deliverTimeoutMs = deliveryDeadlineMs + 20_000;
/** Each try is one receive; as many again, twice, for those that a store's outage or a crash costs. */
const maxReceiveCount = 3 * mostDeliveryTries;

type QueueVariables = Pick<Variables<'deliver'>, 'WEIR_DELIVER_QUEUE_URL'>;

/** Ends of tasks that are to be told to their callbacks. */
export class DeliverQueue extends SourceQueue {
  constructor(scope: Construct, id: string, stage: string) {
    super(scope, id, {
      queueName: `weir-${stage}-deliver`,
      functionTimeoutMs: deliverTimeoutMs,
      maxReceiveCount,
      alarm: {
        name: `weir-${stage}-deliver-dead-letters`,
        runbook: 'deliver-dead-letters',
        meaning: 'messages that tell callbacks of an end were given up',
      },
    });
  }

  /** Has ends told. */
  grantSend(fn: IGrantable): QueueVariables {
    allow(fn, ['sqs:SendMessage'], [this.queue.queueArn]);
    return { WEIR_DELIVER_QUEUE_URL: this.queue.queueUrl };
  }

  /** Has messages come back later; the event source adds what receiving needs. */
  grantDefer(fn: IGrantable): QueueVariables {
    allow(fn, ['sqs:ChangeMessageVisibility'], [this.queue.queueArn]);
    return { WEIR_DELIVER_QUEUE_URL: this.queue.queueUrl };
  }
}
