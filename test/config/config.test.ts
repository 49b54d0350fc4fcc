import { expect, test } from 'vitest';
import * as z from 'zod';
import { checkConfig, defineConfig, type WeirConfig } from '../../lib/config.ts';
import { defineTask, type TaskDefinition } from '../../lib/task.ts';
import shipped from '../../weir.config.ts';

const task = defineTask({ api: 'g/a', pool: 'p', input: z.object({}), timeoutMs: 1_000, run: async () => null });
const pool = { running: 4, pending: 20 };
const config: WeirConfig = { pools: { p: pool }, tasks: [task] };
const withTask = (over: Partial<TaskDefinition>): WeirConfig => ({ ...config, tasks: [{ ...task, ...over }] });

test('the shipped configuration is valid', () => {
  const weir = checkConfig(shipped);
  expect(weir.limits.pools).toEqual({
    conversions: { running: 4, inSystem: 24 },
    ai: { running: 2, inSystem: 22 },
    examples: { running: 4, inSystem: 24 },
  });
  expect(weir.limits).toMatchObject({ ip: {}, tenant: {} });
});

test('fills in what is left out', () => {
  const weir = checkConfig(config);
  expect(weir.pools.p).toMatchObject({ leaseMs: 90_000, heartbeatMs: 30_000, maxRunning: 8, egress: 'none' });
  expect(weir.tasks['g/a']).toMatchObject({ permits: 1, retry: { attempts: 3 }, dedup: { windowMs: 300_000 } });
});

test('0 is a limit, absent is none', () => {
  const { limits } = checkConfig({ ...config, pools: { p: { running: 0, pending: 0 } }, ip: { inSystem: 0 } });
  expect(limits.pools.p).toEqual({ running: 0, inSystem: 0 });
  expect(limits.ip).toEqual({ inSystem: 0 });
  expect(limits.tenant).toEqual({});
});

test.each<[string, WeirConfig, string]>([
  ['a negative limit', { ...config, pools: { p: { ...pool, running: -1 } } }, 'pools.p.running'],
  ['an unknown field', { ...config, pools: { p: { ...pool, runing: 1 } as never } }, 'Unrecognized key: "runing"'],
  [
    'a lease shorter than three heartbeats',
    { ...config, pools: { p: { ...pool, leaseMs: 10_000, heartbeatMs: 4_000 } } },
    'three heartbeats (12000), got 10000',
  ],
  [
    'running above maxRunning',
    { ...config, pools: { p: { ...pool, maxRunning: 3 } } },
    'pools.p.running: expected at most maxRunning (3), got 4',
  ],
  ['no instance reserved', { ...config, reserved: { status: 0 } }, 'reserved.status'],
  ['a pool that is not there', withTask({ pool: 'q' }), 'tasks.0.pool: expected one of p, got q'],
  ['an api without a slash', withTask({ api: 'a' }), 'tasks.0.api: expected <group>/<name>'],
  [
    'a group that Weir uses',
    withTask({ api: 'tasks/a' }),
    'tasks.0.api: expected a group that Weir does not use itself',
  ],
  ['an api twice', { ...config, tasks: [task, task] }, 'tasks.1.api: g/a is defined twice'],
  ['an attempt longer than a function may run', withTask({ timeoutMs: 860_000 }), 'tasks.0.timeoutMs'],
  [
    'more permits than its pool runs',
    withTask({ permits: 5 }),
    'tasks.0.permits: expected at most what pool p runs (4), got 5',
  ],
  [
    'results that are kept for longer than their tasks',
    withTask({ result: { keepMs: 8 * 86_400_000 } }),
    'tasks.0.result.keepMs: expected at most times.keepMs (604800000), got 691200000',
  ],
  [
    'a file named input',
    withTask({ files: { input: { mediaTypes: ['a/b'], maxBytes: 1 } } }),
    'expected a name other than input and options',
  ],
  [
    'limits of an unknown api',
    { ...config, apis: { 'g/b': { running: 1 } } },
    'apis.g/b: expected an api among the tasks (g/a)',
  ],
  [
    'a start window within the re-send age',
    { ...config, times: { startWindowMs: 60_000 } },
    'times.startWindowMs: expected more than',
  ],
  ['no task', { ...config, tasks: [] }, 'tasks:'],
  ...[
    'https://a.internal/',
    'https://a.internal/hook',
    'https://a.internal:443',
    'a.internal',
    'ftp://a.internal',
    '*',
  ].map((origin): [string, WeirConfig, string] => [
    `a trusted origin that is none (${origin})`,
    { ...config, callbacks: { trustedOrigins: ['https://b.internal', origin] } },
    `callbacks.trustedOrigins.1: expected an origin such as https://hooks.internal:8443, no path, no default port, got "${origin}"`,
  ]),
])('%s is refused by name', (_what, source, message) => {
  expect(() => checkConfig(source)).toThrow(message);
});

test('an unknown pool does not compile', () => {
  // @ts-expect-error pool 'p' is not among the pools
  defineConfig({ pools: { q: pool }, tasks: [task] });
});

test('limits from the environment, by name', () => {
  const { limits } = checkConfig(config, {
    WEIR_POOLS_P_RUNNING: '2',
    WEIR_POOLS_P_PENDING: '0',
    WEIR_APIS_G_A_IN_SYSTEM: '5',
    WEIR_IP_IN_SYSTEM: '0',
    WEIR_DATA: 'elsewhere',
  });
  expect(limits).toEqual({
    pools: { p: { running: 2, inSystem: 2 } },
    apis: { 'g/a': { inSystem: 5 } },
    tenant: {},
    ip: { inSystem: 0 },
  });
});

test('callbacks reach no origin beside the rules unless the config, or in its place the environment, names it', () => {
  const trusting = { ...config, callbacks: { trustedOrigins: ['https://a.internal'] } };
  const named = { WEIR_CALLBACKS_TRUSTED_ORIGINS: 'http://127.0.0.1:4000, https://b.internal' };
  expect(checkConfig(config).callbacks.trustedOrigins).toEqual([]);
  expect(checkConfig(trusting).callbacks.trustedOrigins).toEqual(['https://a.internal']);
  expect(checkConfig(trusting, named).callbacks.trustedOrigins).toEqual([
    'http://127.0.0.1:4000',
    'https://b.internal',
  ]);
  expect(checkConfig(trusting, { WEIR_CALLBACKS_TRUSTED_ORIGINS: '' }).callbacks.trustedOrigins).toEqual([]);
  expect(() => checkConfig(config, { WEIR_CALLBACKS_TRUSTED_ORIGINS: 'http://127.0.0.1:4000/' })).toThrow(
    'callbacks.trustedOrigins.0: expected an origin',
  );
});

test.each([
  ['WEIR_CALLBACKS_ORIGINS', 'https://a.internal', 'WEIR_CALLBACKS_ORIGINS: names no limit'],
  ['WEIR_POOLS_Q_RUNNING', '1', 'WEIR_POOLS_Q_RUNNING: names no limit; known are WEIR_POOLS_P_RUNNING'],
  ['WEIR_IP_IN_SYSTEM', '-1', 'WEIR_IP_IN_SYSTEM: expected a whole number, got "-1"'],
  ['WEIR_IP_IN_SYSTEM', '', 'WEIR_IP_IN_SYSTEM: expected a whole number, got ""'],
])('%s=%s is refused', (name, value, message) => {
  expect(() => checkConfig(config, { [name]: value })).toThrow(message);
});
