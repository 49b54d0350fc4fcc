import { expect, test } from 'vitest';
import { maxReceiveCount } from '../../lib/domain/protocol.ts';
import { type Resource, Synthesized } from './synthesize.ts';

const made = new Synthesized();
const queues = new Map(made.all('AWS::SQS::Queue'));
const work = [...queues].filter(([, { Properties }]) => Properties.RedrivePolicy !== undefined);
const deadOf = ({ Properties }: Resource) =>
  queues.get(Properties.RedrivePolicy?.deadLetterTargetArn?.['Fn::GetAtt']?.[0] ?? '');

test('makes a queue for each pool with a task', () => {
  const names = work.map(([, { Properties }]) => Properties.QueueName);
  expect(names.sort()).toEqual(['weir-main-work-conversions', 'weir-main-work-examples']);
});

test.each(work)('%s has a dead-letter queue that keeps 14 days, with an alarm', (_, queue) => {
  expect(queue.Properties.RedrivePolicy?.maxReceiveCount).toBe(maxReceiveCount);
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

test.each(made.all('AWS::Lambda::EventSourceMapping'))(
  '%s takes one message at a time and bounds how many run',
  (_, { Properties }) => {
    expect(Properties.BatchSize).toBe(1);
    expect(Properties.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    expect(Properties.ScalingConfig?.MaximumConcurrency).toBe(8);
    const fn = made.template.findResources('AWS::Lambda::Function')[Properties.FunctionName?.Ref ?? ''] as Resource;
    const queue = queues.get(Properties.EventSourceArn?.['Fn::GetAtt']?.[0] ?? '');
    expect(queue?.Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * Number(fn.Properties.Timeout));
    expect(fn.Properties.ReservedConcurrentExecutions).toBeUndefined();
  },
);
