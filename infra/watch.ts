import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { WeirAlarm } from './alarm.ts';
import type { Api } from './api.ts';
import type { Cache } from './cache.ts';
import type { State } from './state.ts';
import type { Workers } from './workers.ts';

export type WatchProps = {
  readonly stage: string;
  readonly state: State;
  readonly api: Api;
  readonly workers: Workers;
};

const minute = Duration.minutes(1);

/** The alarms beside those of the dead-letter queues, which come with each queue. */
export class Watch extends Construct {
  constructor(scope: Construct, id: string, { stage, state, api, workers }: WatchProps) {
    super(scope, id);
    const sum = { statistic: 'Sum', period: minute };
    new WeirAlarm(this, 'reconcile-errors', {
      name: `weir-${stage}-reconcile-errors`,
      runbook: 'reconcile-errors',
      meaning: 'reconcile failed three minutes in a row; what crashed is not mended',
      metric: workers.reconcile.metricErrors(sum),
      above: 0,
      periods: 3,
    });
    new WeirAlarm(this, 'admit-errors', {
      name: `weir-${stage}-admit-errors`,
      runbook: 'admit-errors',
      meaning: 'admit failed; clients got 5xx that are no decision',
      metric: api.admit.metricErrors(sum),
      above: 0,
      periods: 2,
    });
    new WeirAlarm(this, 'admit-throttles', {
      name: `weir-${stage}-admit-throttles`,
      runbook: 'admit-throttles',
      meaning: "Lambda throttled admit; the account's concurrency is used up",
      metric: api.admit.metricThrottles(sum),
      above: 0,
    });
    new WeirAlarm(this, 'burials', {
      name: `weir-${stage}-burials`,
      runbook: 'burials',
      meaning: 'SQS gave messages up; the tasks are sent again or have failed',
      metric: burials(),
      above: 0,
    });
    new WeirAlarm(this, 'rate-limit-denials', {
      name: `weir-${stage}-RateLimitHighDenialRate`,
      runbook: 'rate-limit-denials',
      meaning: 'rate rules deny more than 5 % of the requests they are asked about',
      metric: denialRate(),
      above: 5,
      periods: 5,
    });
    this.watchCache(stage, state.cache);
  }

  private watchCache(stage: string, cache: Cache): void {
    new WeirAlarm(this, 'cache-memory', {
      name: `weir-${stage}-cache-memory`,
      runbook: 'cache-memory',
      meaning: 'the cache is over 70 % full; full, it refuses writes and nothing is admitted',
      metric: worst(cache, 'DatabaseMemoryUsagePercentage', 'Maximum'),
      above: 70,
      periods: 3,
    });
    new WeirAlarm(this, 'cache-evictions', {
      name: `weir-${stage}-cache-evictions`,
      runbook: 'cache-evictions',
      meaning: 'the cache evicted keys, which its policy forbids; leases may be gone',
      metric: worst(cache, 'Evictions', 'Sum'),
      above: 0,
    });
    new WeirAlarm(this, 'cache-cpu', {
      name: `weir-${stage}-cache-cpu`,
      runbook: 'cache-cpu',
      meaning: 'the cache engine is over 70 % busy; decisions get slow',
      metric: worst(cache, 'EngineCPUUtilization', 'Average'),
      above: 70,
      periods: 5,
    });
  }
}

/** Percent of the requests that a rate rule was asked about. Without a request there is no rate. */
function denialRate(): MathExpression {
  const results = ['allowed', 'denied', 'failed_open'];
  const usingMetrics = counts('admit', 'rate_limit_requests_total', 'result', results);
  const all = sumOf(results);
  return new MathExpression({ expression: `100 * FILL(denied, 0) / (${all})`, usingMetrics, period: minute });
}

/** Given-up messages that meant something: a task that is sent again or has failed, or a body nobody can read. */
function burials(): MathExpression {
  const outcomes = ['due', 'failed', 'unreadable'];
  const usingMetrics = counts('bury', 'burials_total', 'outcome', outcomes);
  return new MathExpression({ expression: sumOf(outcomes), usingMetrics, period: minute });
}

/** What a function counted in a minute, by the values of one dimension. */
function counts(
  service: string,
  metricName: string,
  dimension: string,
  values: readonly string[],
): Record<string, Metric> {
  const metrics = values.map((value): [string, Metric] => {
    const dimensionsMap = { service, [dimension]: value };
    return [value, new Metric({ namespace: 'Weir', metricName, dimensionsMap, statistic: 'Sum', period: minute })];
  });
  return Object.fromEntries(metrics);
}

/** A minute without one counts as 0. */
function sumOf(names: readonly string[]): string {
  return names.map((name) => `FILL(${name}, 0)`).join(' + ');
}

/** The highest value among the nodes: primary and replica change places. */
function worst(cache: Cache, metricName: string, statistic: string): MathExpression {
  const nodes = cache.nodeIds.map((nodeId, index): [string, Metric] => {
    const dimensionsMap = { CacheClusterId: nodeId };
    return [
      `node${index}`,
      new Metric({ namespace: 'AWS/ElastiCache', metricName, statistic, period: minute, dimensionsMap }),
    ];
  });
  const names = nodes.map(([name]) => name).join(', ');
  return new MathExpression({ expression: `MAX([${names}])`, usingMetrics: Object.fromEntries(nodes), period: minute });
}
