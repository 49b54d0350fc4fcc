import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { maxReceiveCount } from '../lib/domain/protocol.ts';
import { WeirAlarm } from './alarm.ts';

export type WorkQueueProps = { readonly stage: string; readonly pool: string; readonly functionTimeoutMs: number };

/**
 * The queue in front of a pool, its dead-letter queue, and the alarm when that one is not empty. A message is invisible for six function
 * timeouts: Lambda's rule for event sources. A worker shortens that to one lease as its first act.
 */
export class WorkQueue extends Construct {
  readonly pool: string;
  readonly queue: Queue;
  readonly dead: Queue;

  constructor(scope: Construct, id: string, { stage, pool, functionTimeoutMs }: WorkQueueProps) {
    super(scope, id);
    this.pool = pool;
    const name = `weir-${stage}-work-${pool}`;
    const sealed = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, retentionPeriod: Duration.days(14) };
    this.dead = new Queue(this, 'dead', { ...sealed, queueName: `${name}-dead` });
    this.queue = new Queue(this, 'queue', {
      ...sealed,
      queueName: name,
      visibilityTimeout: Duration.seconds(6 * Math.ceil(functionTimeoutMs / 1_000)),
      deadLetterQueue: { queue: this.dead, maxReceiveCount },
    });
    new WeirAlarm(this, 'dead-letters', {
      name: `weir-${stage}-dead-letters-${pool}`,
      runbook: 'dead-letters',
      meaning: `messages of pool ${pool} were given up`,
      metric: this.dead.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: Duration.minutes(1) }),
      above: 0,
    });
  }
}
