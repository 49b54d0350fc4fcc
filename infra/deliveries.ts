import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Construct } from 'constructs';
import { deliverTimeoutMs } from './deliver-queue.ts';
import { type FunctionBase, WeirFunction } from './function.ts';
import type { State } from './state.ts';

export type DeliveriesProps = { readonly functions: FunctionBase; readonly state: State; readonly baseUrl: string };

/** Receivers that are slow hold up no more than this many others. */
const maxConcurrency = 10;

/** Tells callbacks of the ends of their tasks. It is outside the VPC: that has no way to the internet, and this touches no cache. */
export class Deliveries extends Construct {
  constructor(scope: Construct, id: string, { functions, state, baseUrl }: DeliveriesProps) {
    super(scope, id);
    const { tasks, deliveries, signing } = state;
    const deliver = new WeirFunction(this, {
      base: functions,
      name: 'deliver',
      description: 'Tells callbacks that their tasks have ended',
      memoryMb: 512,
      timeoutMs: deliverTimeoutMs,
      connect: (fn) => ({
        ...tasks.grantChange(fn),
        ...deliveries.grantDefer(fn),
        ...signing.grantRead(fn),
        WEIR_BASE_URL: baseUrl,
      }),
    });
    deliver.addEventSource(
      new SqsEventSource(deliveries.queue, { batchSize: 1, reportBatchItemFailures: true, maxConcurrency }),
    );
  }
}
