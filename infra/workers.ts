import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { Aws, Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { reconcilePeriodMs, type Weir } from '../lib/config.ts';
import { allow } from './allow.ts';
import { type FunctionBase, WeirFunction } from './function.ts';
import { reconcileTimeoutMs } from './mend-queue.ts';
import { poolsInUse } from './network.ts';
import type { State } from './state.ts';
import { grantTaskSettings } from './task-settings.ts';
import { buryTimeoutMs } from './work-queue.ts';
import { workTimeoutMs } from './work-timeout.ts';

export type WorkersProps = {
  readonly weir: Weir;
  readonly functions: FunctionBase;
  readonly state: State;
  /** Where the settings of task types are looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** What runs without a client waiting: one `work` function per pool in use, and `reconcile` every minute and when it is woken. */
export class Workers extends Construct {
  readonly reconcile: WeirFunction<'reconcile'>;

  constructor(scope: Construct, id: string, { weir, functions, state, environment }: WorkersProps) {
    super(scope, id);
    const pools = new Map(poolsInUse(weir).map((pool) => [pool.name, pool]));
    for (const queue of state.queues.all) {
      const pool = pools.get(queue.pool);
      if (pool === undefined) throw new Error(`queue ${queue.pool} belongs to no pool`);
      const work = new WeirFunction(this, {
        base: functions,
        name: 'work',
        suffix: pool.name,
        description: `Runs the tasks of pool ${pool.name}`,
        memoryMb: pool.memoryMb,
        timeoutMs: workTimeoutMs(weir, pool.name),
        network: state.network,
        egress: pool.egress,
        connect: (fn) => ({
          ...state.cache.grantUse(fn),
          ...state.tasks.grantChange(fn),
          ...state.files.grantWork(fn),
          ...state.queues.grantSendTo(fn, queue),
          ...state.mend.grantSend(fn),
          ...state.deliveries.grantSend(fn),
          WEIR_POOL: pool.name,
        }),
      });
      grantTaskSettings(work, weir, pool.name, environment);
      // One message at a time: each is a long attempt with a lease of its own. The event source, not the function, bounds how many run.
      work.addEventSource(
        new SqsEventSource(queue.queue, {
          batchSize: 1,
          reportBatchItemFailures: true,
          maxConcurrency: pool.maxRunning,
        }),
      );
    }
    this.reconcile = this.makeReconcile(functions, state);
    this.makeBury(functions, state);
  }

  private makeBury(functions: FunctionBase, { cache, tasks, queues, deliveries, network }: State): void {
    const bury = new WeirFunction(this, {
      base: functions,
      name: 'bury',
      description: 'Takes the messages that were given up',
      memoryMb: 256,
      timeoutMs: buryTimeoutMs,
      network,
      connect: (fn) => ({ ...cache.grantUse(fn), ...tasks.grantBury(fn), ...deliveries.grantSend(fn) }),
    });
    for (const { dead } of queues.all) {
      bury.addEventSource(
        new SqsEventSource(dead, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency: 2 }),
      );
    }
  }

  private makeReconcile(
    functions: FunctionBase,
    { cache, tasks, queues, mend, deliveries, network }: State,
  ): WeirFunction<'reconcile'> {
    const reconcile = new WeirFunction(this, {
      base: functions,
      name: 'reconcile',
      description: 'Sends what is due and mends what crashed',
      memoryMb: 512,
      timeoutMs: reconcileTimeoutMs,
      network,
      connect: (fn) => ({
        ...cache.grantUse(fn),
        ...tasks.grantMend(fn),
        ...queues.grantSend(fn),
        ...deliveries.grantSend(fn),
      }),
    });
    // Wake-ups come in bursts and mean the same: ten at a time, and two places, so that one run does not hold up the next burst.
    reconcile.addEventSource(
      new SqsEventSource(mend.queue, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency: 2 }),
    );
    this.startEachMinute(reconcile);
    return reconcile;
  }

  private startEachMinute(reconcile: WeirFunction<'reconcile'>): void {
    // A run that did not come is made up by the next one. The schedule starts it asynchronously, so both have an age to give up at.
    reconcile.configureAsyncInvoke({ maxEventAge: Duration.millis(reconcilePeriodMs), retryAttempts: 0 });
    const role = new Role(this, 'schedule-role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
    });
    allow(role, ['lambda:InvokeFunction'], [reconcile.functionArn]);
    new CfnSchedule(this, 'each-minute', {
      description: 'Weir: reconcile',
      scheduleExpression: `rate(${reconcilePeriodMs / 60_000} minute)`,
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: reconcile.functionArn,
        roleArn: role.roleArn,
        retryPolicy: { maximumEventAgeInSeconds: reconcilePeriodMs / 1_000, maximumRetryAttempts: 2 },
      },
    });
  }
}
