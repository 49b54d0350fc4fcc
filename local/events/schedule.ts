import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Functions } from '../lambda/functions.ts';
import type { FunctionPool } from '../lambda/pool.ts';
import { unsupported } from '../stack-error.ts';
import type { StackIdentity, StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

export type Schedule = { logicalId: string; everyMs: number; pool: FunctionPool; payload: (at: Date) => string };

const unitMs: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

const target = z.object({ Arn: z.string(), Input: z.string().optional() });
const scheduleSchema = z.object({
  ScheduleExpression: z.string(),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
  Target: target,
});
const ruleSchema = z.object({
  ScheduleExpression: z.string().optional(),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
  Targets: z.array(target).default([]),
});

/** Reads the template's schedules and scheduled rules. Only rates are supported, and only functions as targets. */
export function defineSchedules(
  template: Template,
  scope: StackScope,
  functions: Functions,
  identity: StackIdentity,
): Schedule[] {
  const define = (
    logicalId: string,
    expression: string,
    { Arn, Input }: z.output<typeof target>,
    byDefault: (at: Date) => string,
  ) => {
    const pool = functions.find(Arn);
    if (pool === undefined) throw unsupported(logicalId, `its target ${Arn} is no function of this stack`);
    const payload = (at: Date) =>
      Input === undefined ? byDefault(at) : withContext(Input, scope.arnOf(logicalId), at);
    return { logicalId, everyMs: everyMsOf(logicalId, expression), pool, payload };
  };
  const schedules = resourcesOfType(template, 'AWS::Scheduler::Schedule').flatMap(({ logicalId }) => {
    const properties = parseProperties(logicalId, scheduleSchema, scope.properties(logicalId));
    if (properties.State === 'DISABLED') return [];
    return [define(logicalId, properties.ScheduleExpression, properties.Target, () => '{}')];
  });
  const rules = resourcesOfType(template, 'AWS::Events::Rule').flatMap(({ logicalId }) => {
    const { ScheduleExpression: expression, ...properties } = parseProperties(
      logicalId,
      ruleSchema,
      scope.properties(logicalId),
    );
    if (properties.State === 'DISABLED' || expression === undefined) return [];
    const event = (at: Date) =>
      JSON.stringify({
        version: '0',
        id: randomUUID(),
        'detail-type': 'Scheduled Event',
        source: 'aws.events',
        account: identity.accountId,
        time: `${at.toISOString().slice(0, 19)}Z`,
        region: identity.region,
        resources: [scope.arnOf(logicalId)],
        detail: {},
      });
    return properties.Targets.map((one) => define(logicalId, expression, one, event));
  });
  return [...schedules, ...rules];
}

function everyMsOf(logicalId: string, expression: string): number {
  const [, count, unit] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression.trim()) ?? [];
  const everyMs = Number(count) * (unitMs[unit ?? ''] ?? Number.NaN);
  if (everyMs > 0) return everyMs;
  throw unsupported(logicalId, `ScheduleExpression: ${expression} is not supported here, only rate(…)`);
}

function withContext(input: string, scheduleArn: string, at: Date): string {
  return input
    .replaceAll('<aws.scheduler.schedule-arn>', scheduleArn)
    .replaceAll('<aws.scheduler.scheduled-time>', `${at.toISOString().slice(0, 19)}Z`)
    .replaceAll('<aws.scheduler.execution-id>', randomUUID())
    .replaceAll('<aws.scheduler.attempt-number>', '1');
}

/** Fires a schedule, for the first time one interval from now. A tick that comes while the last one runs is left out. */
export function runSchedule(schedule: Schedule, log: (line: string) => void): { stop(): void } {
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    void schedule.pool.invoke(schedule.payload(new Date())).then((outcome) => {
      running = false;
      if (outcome.kind === 'failed') log(`schedule ${schedule.logicalId} failed: ${outcome.payload.slice(0, 300)}`);
    });
  }, schedule.everyMs);
  return { stop: () => clearInterval(timer) };
}
