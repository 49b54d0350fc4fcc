import { expect, test } from 'vitest';
import { maxReceiveCount } from '../../lib/domain/protocol.ts';
import { type Resource, Synthesized } from './synthesize.ts';

const made = new Synthesized();
const queues = new Map(made.all('AWS::SQS::Queue'));
const sources = [...queues].filter(([, { Properties }]) => Properties.RedrivePolicy !== undefined);
const deadOf = ({ Properties }: Resource) =>
  queues.get(Properties.RedrivePolicy?.deadLetterTargetArn?.['Fn::GetAtt']?.[0] ?? '');

test('makes a queue for each pool with a task, and one that wakes reconcile', () => {
  const names = sources.map(([, { Properties }]) => Properties.QueueName);
  expect(names.sort()).toEqual(['weir-main-mend', 'weir-main-work-conversions', 'weir-main-work-examples']);
});

test.each(sources)('%s has a dead-letter queue that keeps 14 days, with an alarm', (_, queue) => {
  const receives = queue.Properties.QueueName === 'weir-main-mend' ? 5 : maxReceiveCount;
  expect(queue.Properties.RedrivePolicy?.maxReceiveCount).toBe(receives);
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

test.each(mappings)(
  '%s bounds how many run, and a message that failed comes back alone, when no run can have it any more',
  (name, Properties, queue) => {
    const mend = name === 'weir-main-mend';
    expect(Properties.BatchSize, 'a task is a long attempt; wake-ups mean the same').toBe(mend ? 10 : 1);
    expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    expect(Properties.ScalingConfig?.MaximumConcurrency).toBe(mend ? 2 : 8);
    const fn = made.template.findResources('AWS::Lambda::Function')[Properties.FunctionName?.Ref ?? ''] as Resource;
    expect(fn.Properties.FunctionName).toBe(mend ? 'weir-main-reconcile' : name);
    expect(queue?.Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * Number(fn.Properties.Timeout));
    expect(fn.Properties.ReservedConcurrentExecutions).toBeUndefined();
  },
);
