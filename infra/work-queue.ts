import type { Construct } from 'constructs';
import { maxReceiveCount } from '../lib/domain/protocol.ts';
import { SourceQueue } from './source-queue.ts';

export type WorkQueueProps = { readonly stage: string; readonly pool: string; readonly functionTimeoutMs: number };

/** The queue in front of a pool. A worker shortens a message's invisible time to one lease as its first act. */
export class WorkQueue extends SourceQueue {
  readonly pool: string;

  constructor(scope: Construct, id: string, { stage, pool, functionTimeoutMs }: WorkQueueProps) {
    super(scope, id, {
      queueName: `weir-${stage}-work-${pool}`,
      functionTimeoutMs,
      maxReceiveCount,
      alarm: {
        name: `weir-${stage}-dead-letters-${pool}`,
        runbook: 'dead-letters',
        meaning: `messages of pool ${pool} were given up`,
      },
    });
    this.pool = pool;
  }
}
