import { expect, test } from 'vitest';
import { mostDeliveryTries } from '../../lib/domain/delivery-schedule.ts';
import { type Resource, Synthesized } from './synthesize.ts';

const made = new Synthesized();
const queues = new Map(made.all('AWS::SQS::Queue'));
const sources = [...queues].filter(([, { Properties }]) => Properties.RedrivePolicy !== undefined);
const deadOf = ({ Properties }: Resource) =>
  queues.get(Properties.RedrivePolicy?.deadLetterTargetArn?.['Fn::GetAtt']?.[0] ?? '');

/** How often a message comes before it is given up. */
const receives: Readonly<Record<string, number>> = { 'weir-main-mend': 5, 'weir-main-deliver': 3 * mostDeliveryTries };

test('makes a queue for each pool with a task, one that wakes reconcile, and one for deliveries', () => {
  const names = sources.map(([, { Properties }]) => Properties.QueueName);
  expect(names.sort()).toEqual([
    'weir-main-deliver',
    'weir-main-mend',
    'weir-main-work-ai',
    'weir-main-work-conversions',
    'weir-main-work-examples',
  ]);
});

test.each(sources)('%s has a dead-letter queue that keeps 14 days, with an alarm', (_, queue) => {
  const most = receives[queue.Properties.QueueName] ?? 100;
  expect(queue.Properties.RedrivePolicy?.maxReceiveCount).toBe(most);
  const dead = deadOf(queue);
  expect(dead?.Properties.MessageRetentionPeriod).toBe(14 * 86_400);
  const watched = made
    .all('AWS::CloudWatch::Alarm')
    .map(([, { Properties }]) => Properties.Dimensions?.[0]?.Value?.['Fn::GetAtt']?.[0]);
  const [deadId] = [...queues].find(([, each]) => each === dead) ?? [];
  expect(watched).toContain(deadId);
});

test.each([...queues])('%s is encrypted and refuses plain connections', (id, { Properties }) => {
  expect(Properties.SqsManagedSseEnabled).toBe(true);
  const policies = made
    .all('AWS::SQS::QueuePolicy')
    .filter(([, policy]) => policy.Properties.Queues?.some((each: { Ref: string }) => each.Ref === id));
  expect(JSON.stringify(policies)).toContain('"aws:SecureTransport":"false"');
});

const mappings = made.all('AWS::Lambda::EventSourceMapping').map(([, { Properties }]) => {
  const queue = queues.get(Properties.EventSourceArn?.['Fn::GetAtt']?.[0] ?? '');
  return [String(queue?.Properties.QueueName), Properties, queue] as const;
});

type Consumer = { readonly fn: string; readonly batch: number; readonly atOnce: number };
/** Of each queue: a task is a long attempt, and so is a post to a stranger; wake-ups mean the same, and given-up messages are quickly taken. */
const consumers: Readonly<Record<string, Consumer>> = {
  'weir-main-mend': { fn: 'weir-main-reconcile', batch: 10, atOnce: 2 },
  'weir-main-deliver': { fn: 'weir-main-deliver', batch: 1, atOnce: 10 },
  'weir-main-work-ai': { fn: 'weir-main-work-ai', batch: 1, atOnce: 4 },
  'weir-main-work-ai-dead': { fn: 'weir-main-bury', batch: 10, atOnce: 2 },
  'weir-main-work-conversions': { fn: 'weir-main-work-conversions', batch: 1, atOnce: 8 },
  'weir-main-work-examples': { fn: 'weir-main-work-examples', batch: 1, atOnce: 8 },
  'weir-main-work-conversions-dead': { fn: 'weir-main-bury', batch: 10, atOnce: 2 },
  'weir-main-work-examples-dead': { fn: 'weir-main-bury', batch: 10, atOnce: 2 },
};

test('each queue that is consumed has one consumer', () => {
  expect(mappings.map(([name]) => name).sort()).toEqual(Object.keys(consumers).sort());
});

test.each(mappings)(
  '%s bounds how many run, and a message that failed comes back alone, when no run can have it any more',
  (name, Properties, queue) => {
    const { fn, batch, atOnce } = consumers[name] as Consumer;
    expect(Properties.BatchSize).toBe(batch);
    expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    expect(Properties.ScalingConfig?.MaximumConcurrency).toBe(atOnce);
    const consumer = made.template.findResources('AWS::Lambda::Function')[
      Properties.FunctionName?.Ref ?? ''
    ] as Resource;
    expect(consumer.Properties.FunctionName).toBe(fn);
    expect(queue?.Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * Number(consumer.Properties.Timeout));
    expect(consumer.Properties.ReservedConcurrentExecutions).toBeUndefined();
  },
);
