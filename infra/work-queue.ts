import type { Construct } from 'constructs';
import { SourceQueue } from './source-queue.ts';

export type WorkQueueProps = {
  readonly stage: string;
  readonly pool: string;
  readonly functionTimeoutMs: number;
  readonly maxReceiveCount: number;
};

/** Of the function that takes the messages a pool gave up. */
export const buryTimeoutMs = 30_000;

/** The queue in front of a pool. A worker shortens a message's invisible time to one lease as its first act. */
export class WorkQueue extends SourceQueue {
  readonly pool: string;

  constructor(scope: Construct, id: string, { stage, pool, functionTimeoutMs, maxReceiveCount }: WorkQueueProps) {
    super(scope, id, {
      queueName: `weir-${stage}-work-${pool}`,
      functionTimeoutMs,
      maxReceiveCount,
      deadTimeoutMs: buryTimeoutMs,
      alarm: {
        name: `weir-${stage}-dead-letters-${pool}`,
        runbook: 'dead-letters',
        meaning: `messages that pool ${pool} gave up are not taken from its dead-letter queue`,
      },
    });
    this.pool = pool;
  }
}
