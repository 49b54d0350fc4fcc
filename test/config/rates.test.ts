import { expect, test } from 'vitest';
import * as z from 'zod';
import { checkConfig, type WeirConfig } from '../../lib/config.ts';
import { defineTask } from '../../lib/task.ts';
import shipped from '../../weir.config.ts';

const task = defineTask({
  ...{ api: 'g/a', pool: 'p', timeoutMs: 1_000 },
  input: z.object({ text: z.string() }),
  costs: { tokens: ({ text }) => text.length / 4 },
  run: async () => null,
});
const config = (rates: WeirConfig['rates']): WeirConfig => ({
  ...{ pools: { p: { running: 4, pending: 20 } }, tasks: [task] },
  ...(rates === undefined ? {} : { rates }),
});
const perMinute = { algorithm: 'fixed-window', limit: 20, periodMs: 60_000 } as const;

test('the shipped rules are declared for all task routes and off', () => {
  const rules = Object.values(checkConfig(shipped).rates).filter(({ on }) => on.includes('tasks'));
  expect(rules).toMatchObject([
    { name: 'submit-ip', on: ['tasks'], identity: ['ip'] },
    { name: 'submit-tenant', on: ['tasks'], identity: ['tenant'] },
  ]);
  expect(rules.map(({ numbers }) => numbers)).toEqual([undefined, undefined]);
});

test('fills in what is left out', () => {
  const { rates } = checkConfig(
    config({ r: { identity: 'global', ...perMinute }, s: { identity: ['tenant', 'api'] } }),
  );
  expect(rates.r).toEqual({
    ...{ name: 'r', on: ['tasks'], identity: [], cost: 'requests', whenUnavailable: 'admit', numbers: perMinute },
  });
  expect(rates.s).toMatchObject({ identity: ['tenant', 'api'] });
});

test('numbers from the environment', () => {
  const named = {
    WEIR_RATES_SUBMIT_IP_ALGORITHM: 'token-bucket',
    WEIR_RATES_SUBMIT_IP_LIMIT: '20',
    WEIR_RATES_SUBMIT_IP_BURST: '5',
    WEIR_RATES_SUBMIT_IP_PERIOD_MS: '60000',
  };
  const { rates } = checkConfig(config({ 'submit-ip': { identity: 'ip' } }), named);
  expect(rates['submit-ip']?.numbers).toEqual({ algorithm: 'token-bucket', limit: 20, burst: 5, periodMs: 60_000 });
  expect(() => checkConfig(config({}), named)).toThrow('WEIR_RATES_SUBMIT_IP_ALGORITHM: names no limit');
});

test.each<[string, WeirConfig['rates'], string]>([
  ['a half rule', { r: { identity: 'ip', limit: 3 } }, 'rates.r.algorithm: expected one of fixed-window'],
  [
    'a limit that is none',
    { r: { identity: 'ip', ...perMinute, limit: 1.5 } },
    'rates.r.limit: expected a whole number',
  ],
  ['a route there is not', { r: { identity: 'ip', on: ['g/b'] } }, 'expected one of tasks, reads, hooks, g/a, got g/b'],
  ['a cost no api has', { r: { identity: 'ip', cost: 'pages' } }, 'expected one of requests, tokens, got pages'],
  [
    'a cost where nothing is estimated',
    { r: { identity: 'ip', on: ['reads'], cost: 'tokens' } },
    'expected one of requests',
  ],
  ['a source of a task route', { r: { identity: 'source' } }, 'only hooks have one'],
  ['an api of a read', { r: { identity: ['ip', 'api'], on: ['reads'] } }, 'only task routes have one'],
  ['one identity twice', { r: { identity: ['ip', 'ip'] } }, 'expected two that differ'],
  ['a name with a space', { 'r r': { identity: 'ip' } }, 'expected 1 to 32 of a-z'],
  [
    'more rules than a decision looks at',
    Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`r${n}`, { identity: 'ip' }])),
    'expected at most 16 rules on g/a',
  ],
])('%s is refused by name', (_what, rates, message) => {
  expect(() => checkConfig(config(rates))).toThrow(message);
});
