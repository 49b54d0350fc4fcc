import { expect, test } from 'vitest';
import { deliveryDeadlineMs } from '../../lib/domain/delivery-schedule.ts';
import { type FunctionName, settings } from '../../lib/settings.ts';
import shipped from '../../weir.config.ts';
import { Synthesized } from './synthesize.ts';

const made = new Synthesized();
const functions = made.all('AWS::Lambda::Function').map(([, { Properties }]) => Properties);
const names = [
  'admit',
  'authorize',
  'bury',
  'control',
  'deliver',
  'reconcile',
  'status',
  'upload',
  'work-ai',
  'work-conversions',
  'work-examples',
];
/** They touch no cache, and one of them must reach the internet. */
const outside = ['authorize', 'deliver', 'upload'];

test('makes the functions of the design, and no work function for a pool without a task', () => {
  expect(functions.map(({ FunctionName }) => FunctionName).sort()).toEqual(names.map((name) => `weir-main-${name}`));
});

test.each(names)('%s leaves nothing to a silent default', (name) => {
  const { Properties } = made.fn(name);
  expect(Properties).toMatchObject({
    Runtime: 'nodejs24.x',
    Architectures: ['arm64'],
    MemorySize: expect.any(Number),
    Timeout: expect.any(Number),
    LoggingConfig: { LogGroup: { Ref: expect.any(String) } },
  });
  const group = made.template.findResources('AWS::Logs::LogGroup')[Properties.LoggingConfig?.LogGroup?.Ref ?? ''];
  expect(group?.Properties).toMatchObject({ RetentionInDays: 30, LogGroupName: `/aws/lambda/weir-main-${name}` });
});

test.each(names)('%s has exactly the variables it reads', (name) => {
  const variables = made.fn(name).Properties.Environment?.Variables;
  const read = settings[name.replace(/-.*/, '') as FunctionName];
  expect(Object.keys(variables ?? {}).sort()).toEqual(Object.keys(read.shape).sort());
});

test('gives what a variable overrides in the config to every function, and no other variable', () => {
  const origins = 'http://127.0.0.1:4000';
  const limited = new Synthesized({
    variables: { WEIR_IP_IN_SYSTEM: '2', WEIR_CALLBACKS_TRUSTED_ORIGINS: origins, HOME: '/home/somebody' },
  });
  for (const name of names) {
    const variables = limited.fn(name).Properties.Environment?.Variables;
    expect(variables).toHaveProperty('WEIR_IP_IN_SYSTEM', '2');
    expect(variables).toHaveProperty('WEIR_CALLBACKS_TRUSTED_ORIGINS', origins);
    expect(variables).not.toHaveProperty('HOME');
  }
});

test('a worker has the memory of its pool and the time of its longest task with a margin', () => {
  expect(made.fn('work-conversions').Properties).toMatchObject({ MemorySize: 2_048, Timeout: 165 });
  expect(made.fn('work-examples').Properties).toMatchObject({ MemorySize: 1_024, Timeout: 185 });
});

test('no function has reserved concurrency unless the config says so: an account with a small quota cannot give it', () => {
  for (const { ReservedConcurrentExecutions } of functions) expect(ReservedConcurrentExecutions).toBeUndefined();
  const reserved = new Synthesized({ config: { ...shipped, reserved: { status: 200 } } });
  expect(reserved.fn('status').Properties.ReservedConcurrentExecutions).toBe(200);
  expect(reserved.fn('admit').Properties.ReservedConcurrentExecutions).toBeUndefined();
});

test('deliver has time for a post and its record', () => {
  expect(made.fn('deliver').Properties.Timeout * 1_000).toBeGreaterThanOrEqual(deliveryDeadlineMs + 15_000);
});

test('long polls have more instances than other functions on one machine', () => {
  expect(made.fn('status').Metadata).toMatchObject({ local: { instances: 20 } });
});

test('only functions that use the cache are in the VPC, in subnets without a route out', () => {
  const inside = functions.filter(({ VpcConfig }) => VpcConfig !== undefined).map(({ FunctionName }) => FunctionName);
  expect(inside.sort()).toEqual(names.filter((name) => !outside.includes(name)).map((name) => `weir-main-${name}`));
  for (const { Environment, VpcConfig } of functions) {
    expect(VpcConfig !== undefined).toBe('WEIR_REDIS_URL' in (Environment?.Variables ?? {}));
  }
});

test('the schedule starts reconcile each minute and never catches up', () => {
  const { Properties } = made.only('AWS::Scheduler::Schedule');
  expect(Properties).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    Target: { RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 2 } },
  });
  expect(made.only('AWS::Lambda::EventInvokeConfig').Properties).toMatchObject({
    MaximumEventAgeInSeconds: 60,
    MaximumRetryAttempts: 0,
  });
  expect(made.fn('reconcile').Properties.Timeout, 'a rebuild waits 15 s').toBe(300);
});
