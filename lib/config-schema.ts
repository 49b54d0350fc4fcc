import * as z from 'zod';
import { $ZodType } from 'zod/v4/core';
import { day, hour, minute, second } from './domain/time.ts';
import { hookFaults, hooks } from './hook-schema.ts';
import { limitVariablePrefixes } from './limit-variables.ts';
import { costs, rateRuleFaults, rates } from './rate-schema.ts';
import type { TaskDefinition } from './task.ts';

/** First path segments that Weir answers itself, so no api's group may take them. */
const reservedGroups = ['tasks', 'uploads', 'hooks', 'queue', 'operator', 'health', 'metrics', 'openapi.json'];

/** Time an attempt's function keeps for loading, acquiring and the last write, beside the handler's own timeout. */
export const attemptMarginMs = 45 * second;
/** Lambda's longest function timeout. */
const maxFunctionMs = 900 * second;
/** How often the schedule starts `reconcile`. */
export const reconcilePeriodMs = minute;
/** How much longer than its task may need it a seat lasts: two runs of `reconcile` may pass before one sees that the task is over. */
export const seatMarginMs = 2 * reconcilePeriodMs;

const count = z.int().min(0).max(1_000_000);
const clientLimits = z.strictObject({ running: count.optional(), inSystem: count.optional() });
const apiName = z
  .string()
  .regex(/^[a-z0-9-]{1,32}\/[a-z0-9-]{1,32}$/, 'expected <group>/<name>, each 1 to 32 of a-z, 0-9 and -')
  .refine((api) => !reservedGroups.includes(api.split('/')[0] ?? ''), {
    message: `expected a group that Weir does not use itself (${reservedGroups.join(', ')})`,
  });
const poolName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected 1 to 32 of a-z, 0-9 and -, a letter first');

export const pool = z
  .strictObject({
    running: count,
    pending: count,
    maxRunning: z.int().min(2).max(1_000).optional(),
    memoryMb: z.int().min(128).max(10_240).default(1_024),
    egress: z.enum(['none', 'internet']).default('none'),
    leaseMs: z
      .int()
      .min(3 * second)
      .max(15 * minute)
      .default(90 * second),
    heartbeatMs: z
      .int()
      .min(second)
      .max(5 * minute)
      .optional(),
  })
  .transform((value) => ({
    ...value,
    heartbeatMs: value.heartbeatMs ?? Math.floor(value.leaseMs / 3),
    maxRunning: value.maxRunning ?? Math.max(2, 2 * value.running),
  }))
  .check((ctx) => {
    const { running, maxRunning, leaseMs, heartbeatMs } = ctx.value;
    if (leaseMs < 3 * heartbeatMs) {
      fault(ctx, 'leaseMs', `expected at least three heartbeats (${3 * heartbeatMs}), got ${leaseMs}`);
    }
    if (running + ctx.value.pending > 1_000_000) {
      fault(ctx, 'pending', `expected running + pending of at most 1000000, got ${running + ctx.value.pending}`);
    }
    if (running > maxRunning) fault(ctx, 'running', `expected at most maxRunning (${maxRunning}), got ${running}`);
  });

const fileRule = z.strictObject({
  mediaTypes: z
    .array(z.string().regex(/^[a-z]+\/[a-z0-9.+-]+$/, 'expected a media type such as application/pdf'))
    .min(1),
  maxBytes: z.int().min(1).max(5_000_000_000),
  required: z.boolean().optional(),
});
const fileField = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'expected 1 to 64 letters, digits, _ or -, a letter first')
  .refine((name) => name !== 'input' && name !== 'options', 'expected a name other than input and options');

const taskVariable = z
  .string()
  .regex(/^WEIR_[A-Z][A-Z0-9_]{0,60}$/, 'expected WEIR_ and capitals, digits and _')
  .refine((name) => !limitVariablePrefixes.some((prefix) => name.startsWith(prefix)), {
    error: `expected a name that sets no limit (${limitVariablePrefixes.join(', ')})`,
  });

export const task = z.looseObject({
  api: apiName,
  pool: poolName,
  input: z.custom<z.ZodType>((value) => value instanceof $ZodType, 'expected a zod schema'),
  files: z.record(fileField, fileRule).optional(),
  permits: z.int().min(1).max(1_000).default(1),
  timeoutMs: z
    .int()
    .min(1)
    .max(maxFunctionMs - attemptMarginMs),
  retry: z
    .strictObject({
      attempts: z.int().min(1).max(20).default(3),
      firstMs: z
        .int()
        .min(1)
        .max(hour)
        .default(2 * second),
      longestMs: z
        .int()
        .min(1)
        .max(day)
        .default(5 * minute),
    })
    .prefault({}),
  dedup: z
    .strictObject({
      windowMs: z
        .int()
        .min(0)
        .max(6 * day)
        .default(300 * second),
      fields: z.array(z.string().min(1)).min(1).max(100).optional(),
    })
    .prefault({}),
  costs: costs.optional(),
  result: z
    .strictObject({
      keepMs: z
        .int()
        .min(second)
        .max(90 * day)
        .optional(),
    })
    .prefault({}),
  settings: z.array(taskVariable).max(50).default([]),
  secrets: z.array(taskVariable).max(50).default([]),
  run: z.custom<TaskDefinition['run']>((value) => typeof value === 'function', 'expected a function'),
});

export const times = z
  .strictObject({
    startWindowMs: z.int().min(second).max(day).default(hour),
    resendAgeMs: z
      .int()
      .min(second)
      .max(hour)
      .default(5 * minute),
    // Deferring spends receives, so the number is large: each wait is a tenth longer than the one before, and a hundred of them last hours.
    maxReceiveCount: z.int().min(3).max(1_000).default(100),
    keepMs: z
      .int()
      .min(day)
      .max(90 * day)
      .default(7 * day),
  })
  .check((ctx) => {
    const { startWindowMs, resendAgeMs, keepMs } = ctx.value;
    // Its last attempt, and the tries to tell a callback of its end, lie between a task's latest start and its record's end.
    if (keepMs < startWindowMs + day)
      fault(ctx, 'keepMs', `expected at least startWindowMs and a day (${startWindowMs + day}), got ${keepMs}`);
    const least = resendAgeMs + 2 * reconcilePeriodMs;
    if (startWindowMs <= least) {
      fault(
        ctx,
        'startWindowMs',
        `expected more than resendAgeMs and two reconcile periods (${least}), got ${startWindowMs}`,
      );
    }
  });

const origin = z.string().refine((text) => /^https?:/.test(text) && URL.parse(text)?.origin === text, {
  error: ({ input }) =>
    `expected an origin such as https://hooks.internal:8443, no path, no default port, got ${JSON.stringify(input)}`,
});
export const callbacks = z.strictObject({ trustedOrigins: z.array(origin).max(100).default([]) });

export const reserved = z.strictObject({ status: z.int().min(1).max(100_000).optional() });

export const config = z
  .strictObject({
    pools: z.record(poolName, pool),
    apis: z.record(apiName, clientLimits).default({}),
    tenant: clientLimits.default({}),
    ip: clientLimits.default({}),
    rates: rates.prefault({}),
    hooks: hooks.prefault({}),
    times: times.prefault({}),
    callbacks: callbacks.prefault({}),
    reserved: reserved.default({}),
    tasks: z.array(task).min(1),
  })
  .check((ctx) => {
    const { pools, apis, rates, hooks, tasks, times } = ctx.value;
    const names = tasks.map((each) => each.api);
    tasks.forEach((each, index) => {
      const at = pools[each.pool];
      if (at === undefined) {
        fault(ctx, ['tasks', index, 'pool'], `expected one of ${Object.keys(pools).join(', ')}, got ${each.pool}`);
      } else if (at.running > 0 && each.permits > at.running) {
        const most = `expected at most what pool ${each.pool} runs (${at.running})`;
        fault(ctx, ['tasks', index, 'permits'], `${most}, got ${each.permits}`);
      }
      const { keepMs } = each.result;
      if (keepMs !== undefined && keepMs > times.keepMs) {
        const most = `expected at most times.keepMs (${times.keepMs})`;
        fault(ctx, ['tasks', index, 'result', 'keepMs'], `${most}, got ${keepMs}`);
      }
      if (names.indexOf(each.api) !== index) fault(ctx, ['tasks', index, 'api'], `${each.api} is defined twice`);
    });
    for (const api of Object.keys(apis)) {
      if (!names.includes(api)) fault(ctx, ['apis', api], `expected an api among the tasks (${names.join(', ')})`);
    }
    for (const { path, message } of [...rateRuleFaults(rates, tasks), ...hookFaults(hooks, tasks)])
      fault(ctx, path, message);
  });

function fault(ctx: { issues: unknown[]; value: unknown }, path: string | (string | number)[], message: string): void {
  ctx.issues.push({ code: 'custom', input: ctx.value, path: [path].flat(), message });
}
