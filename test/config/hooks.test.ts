import { expect, test } from 'vitest';
import * as z from 'zod';
import { ConfigError, checkConfig, type WeirConfig } from '../../lib/config.ts';
import { defineTask } from '../../lib/task.ts';
import shipped from '../../weir.config.ts';

const shared = { pool: 'p', input: z.looseObject({}), timeoutMs: 1_000, run: async () => null };
const file = { mediaTypes: ['text/plain'], maxBytes: 10 };
const config = (hooks: unknown): WeirConfig => ({
  pools: { p: { running: 4, pending: 20 } },
  tasks: [
    defineTask({ ...shared, api: 'g/a', files: { notes: { ...file, required: false } } }),
    defineTask({ ...shared, api: 'g/file', files: { document: file } }),
  ],
  hooks: hooks as NonNullable<WeirConfig['hooks']>,
});
const alerts = { kind: 'alertmanager', api: 'g/a', input: () => ({}) };
const json = { kind: 'json', api: 'g/a', key: () => 'k', input: () => ({}) };

test('the shipped hook wants its secret and starts a probe of alerts that fire; its two rules are on', () => {
  const { hooks, rates } = checkConfig(shipped);
  expect(hooks).toMatchObject({ alerts: { source: 'alerts', api: 'examples/probe', auth: 'bearer' } });
  const input = hooks.alerts?.input as (event: unknown) => unknown;
  expect(input({ status: 'firing', groupKey: 'g'.repeat(2_000) })).toEqual({ tag: 'g'.repeat(1_000) });
  expect(input({ status: 'resolved', groupKey: 'g' })).toBeUndefined();
  expect(Object.values(rates).filter(({ on }) => on.includes('hooks'))).toMatchObject([
    { identity: ['source'], numbers: { algorithm: 'fixed-window', limit: 500, periodMs: 60_000 } },
    { identity: ['ip'], numbers: { algorithm: 'fixed-window', limit: 50, periodMs: 1_000 } },
  ]);
});

test('a hook wants a bearer token unless it says otherwise', () => {
  const { hooks } = checkConfig(
    config({ a: alerts, b: { ...alerts, auth: 'none' }, c: { ...json, auth: 'signature' } }),
  );
  expect(Object.values(hooks).map(({ source, auth }) => [source, auth])).toEqual([
    ['a', 'bearer'],
    ['b', 'none'],
    ['c', 'signature'],
  ]);
});

test('there need be none', () => {
  const { hooks: _, ...without } = config({});
  expect(checkConfig(without).hooks).toEqual({});
});

test.each<[string, unknown, string]>([
  ['an api there is not', { a: { ...alerts, api: 'g/b' } }, 'hooks.a.api: expected one of g/a, g/file, got g/b'],
  ['an api that needs a file', { a: { ...alerts, api: 'g/file' } }, 'hooks.a.api: expected an api that needs no file'],
  ['a name in capitals', { Alerts: alerts }, 'hooks.Alerts: expected 1 to 32 of a-z, 0-9 and -'],
  ['a name that is too long', { ['a'.repeat(33)]: alerts }, 'expected 1 to 32 of a-z, 0-9 and -'],
  ['a kind there is not', { a: { ...alerts, kind: 'pagerduty' } }, 'hooks.a.kind: '],
  ['no mapping', { a: { kind: 'alertmanager', api: 'g/a' } }, 'hooks.a.input: expected a function'],
  ['no key', { a: { ...json, key: undefined } }, 'hooks.a.key: expected a function'],
  ['a key where events have one', { a: { ...alerts, key: () => 'k' } }, 'hooks.a: Unrecognized key: "key"'],
  ['a signature that Alertmanager cannot make', { a: { ...alerts, auth: 'signature' } }, 'hooks.a.auth: '],
])('%s is refused by name', (_what, hooks, message) => {
  expect(() => checkConfig(config(hooks))).toThrow(message);
  expect(() => checkConfig(config(hooks))).toThrow(ConfigError);
});
