import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { type RunbookSection, WeirAlarm } from './alarm.ts';

export type SourceQueueProps = {
  readonly queueName: string;
  /** Of the function it is the event source of. */
  readonly functionTimeoutMs: number;
  readonly maxReceiveCount: number;
  /** Of the function that consumes the dead-letter queue, where one does. */
  readonly deadTimeoutMs?: number;
  /** Rings when a message was given up. */
  readonly alarm: { readonly name: string; readonly runbook: RunbookSection; readonly meaning: string };
};

/**
 * A queue that is a function's event source, its dead-letter queue, and the alarm when that one is not empty. A message is invisible for six
 * function timeouts: Lambda's rule for event sources.
 */
export class SourceQueue extends Construct {
  readonly queue: Queue;
  readonly dead: Queue;

  constructor(scope: Construct, id: string, props: SourceQueueProps) {
    super(scope, id);
    const { queueName, functionTimeoutMs, maxReceiveCount, deadTimeoutMs, alarm } = props;
    const sealed = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, retentionPeriod: Duration.days(14) };
    this.dead = new Queue(this, 'dead', {
      ...sealed,
      queueName: `${queueName}-dead`,
      ...(deadTimeoutMs === undefined ? {} : { visibilityTimeout: invisibleFor(deadTimeoutMs) }),
    });
    this.queue = new Queue(this, 'queue', {
      ...sealed,
      queueName,
      visibilityTimeout: invisibleFor(functionTimeoutMs),
      deadLetterQueue: { queue: this.dead, maxReceiveCount },
    });
    new WeirAlarm(this, 'dead-letters', {
      ...alarm,
      metric: this.dead.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: Duration.minutes(1) }),
      above: 0,
    });
  }
}

function invisibleFor(functionTimeoutMs: number): Duration {
  return Duration.seconds(6 * Math.ceil(functionTimeoutMs / 1_000));
}
