import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Weir } from '../lib/config.ts';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';
import { poolsInUse } from './network.ts';
import { WorkQueue } from './work-queue.ts';
import { workTimeoutMs } from './work-timeout.ts';

type QueueVariables = Pick<Variables<'admit'>, 'WEIR_QUEUE_URLS'>;

/** One work queue per pool in use. */
export class WorkQueues extends Construct {
  readonly all: readonly WorkQueue[];

  constructor(scope: Construct, id: string, { weir, stage }: { readonly weir: Weir; readonly stage: string }) {
    super(scope, id);
    this.all = poolsInUse(weir).map(
      ({ name: pool }) =>
        new WorkQueue(this, pool, {
          stage,
          pool,
          functionTimeoutMs: workTimeoutMs(weir, pool),
          maxReceiveCount: weir.times.maxReceiveCount,
        }),
    );
  }

  /** Sends to every pool's queue. */
  grantSend(fn: IGrantable): QueueVariables {
    return this.send(fn, this.all);
  }

  /** Sends to one pool's queue; the event source adds what receiving needs. */
  grantSendTo(fn: IGrantable, queue: WorkQueue): QueueVariables {
    return this.send(fn, [queue]);
  }

  /** Sees how many messages wait, and how many were given up. */
  grantCount(fn: IGrantable): QueueVariables & Pick<Variables<'control'>, 'WEIR_DEAD_QUEUE_URLS'> {
    allow(
      fn,
      ['sqs:GetQueueAttributes'],
      this.all.flatMap(({ queue, dead }) => [queue.queueArn, dead.queueArn]),
    );
    return {
      WEIR_QUEUE_URLS: this.urls(this.all.map(({ pool, queue }) => [pool, queue.queueUrl])),
      WEIR_DEAD_QUEUE_URLS: this.urls(this.all.map(({ pool, dead }) => [pool, dead.queueUrl])),
    };
  }

  private send(fn: IGrantable, queues: readonly WorkQueue[]): QueueVariables {
    allow(
      fn,
      ['sqs:SendMessage'],
      queues.map(({ queue }) => queue.queueArn),
    );
    return { WEIR_QUEUE_URLS: this.urls(queues.map(({ pool, queue }) => [pool, queue.queueUrl])) };
  }

  private urls(entries: readonly (readonly [string, string])[]): string {
    return Stack.of(this).toJsonString(Object.fromEntries(entries));
  }
}
