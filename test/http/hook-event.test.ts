import { expect, test } from 'vitest';
import * as z from 'zod';
import { checkConfig, type WeirConfig } from '../../lib/config.ts';
import { hookBody, readEvent } from '../../lib/http/hook-event.ts';
import { defineTask } from '../../lib/task.ts';
import { alertmanagerBody, hookEvent } from '../support/hooks.ts';

const errors: unknown[] = [];
const log = { info: () => undefined, warn: () => undefined, error: (...all: unknown[]) => errors.push(all) };
const task = defineTask({ api: 'g/a', pool: 'p', input: z.any(), timeoutMs: 1, run: async () => null });

function hookFrom(source: NonNullable<WeirConfig['hooks']>[string]) {
  const { hooks } = checkConfig({ pools: { p: { running: 1, pending: 1 } }, tasks: [task], hooks: { h: source } });
  if (hooks.h === undefined) throw new Error('expected hook h');
  return hooks.h;
}
const firing = hookFrom({
  kind: 'alertmanager',
  api: 'g/a',
  input: ({ status, alerts }) =>
    status === 'firing' ? { names: alerts.map(({ labels }) => labels.alertname) } : undefined,
});
const read = (body: unknown, hook = firing) =>
  readEvent({ log }, hook, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
const problem = (over: object) => expect.objectContaining({ problem: expect.objectContaining(over) });

test('an alert group that fires asks for a task under its group key', () => {
  expect(read(alertmanagerBody())).toEqual({
    ...{ kind: 'asks', key: '{}:{alertname="DiskFull"}' },
    input: { names: ['DiskFull'] },
  });
});

test('an event that its mapping makes no task of is ignored', () => {
  expect(read(alertmanagerBody({ status: 'resolved' }))).toEqual({ kind: 'ignored' });
});

test('members that a later version adds pass', () => {
  expect(read(alertmanagerBody({ notificationReason: 'new' })).kind).toBe('asks');
});

const alert = alertmanagerBody().alerts[0];
test.each<[string, Record<string, unknown>, string]>([
  ['another version', { version: '5' }, 'version'],
  ['no group key', { groupKey: undefined }, 'groupKey'],
  ['an empty group key', { groupKey: '' }, 'groupKey'],
  ['a group key without end', { groupKey: 'g'.repeat(10_001) }, 'groupKey'],
  ['an unknown status', { status: 'silenced' }, 'status'],
  ['labels that are no texts', { commonLabels: { severity: 1 } }, 'commonLabels.severity'],
  ['an alert without its start', { alerts: [{ ...alert, startsAt: undefined }] }, 'alerts.0.startsAt'],
  ['more alerts than anybody reads', { alerts: Array(5_001).fill(alert) }, 'alerts'],
])('%s is 422 by its path', (_what, over, path) => {
  const errors = expect.arrayContaining([expect.objectContaining({ path })]);
  expect(() => read(alertmanagerBody(over))).toThrow(
    problem({ status: 422, code: 'invalid_input', members: { errors } }),
  );
});

test.each([['{'], ['{"a":1,"a":2}'], ['']])('%j is 400', (body) => {
  expect(() => read(body)).toThrow(problem({ status: 400, code: 'malformed_json' }));
});

test('a json hook takes any object, and names it itself', () => {
  const hook = hookFrom({
    kind: 'json',
    api: 'g/a',
    key: ({ id }) => `build-${id}`,
    input: ({ id, at }) => ({ id, at }),
  });
  expect(read({ id: 7, __proto__: null }, hook)).toEqual({ kind: 'asks', key: 'build-7', input: { id: 7 } });
  expect(() => read([1], hook)).toThrow(problem({ status: 422, code: 'invalid_input' }));
});

test.each<[string, Partial<{ key: () => never; input: () => unknown }>, string]>([
  [
    'throws',
    {
      input: () => {
        throw new Error('nothing there');
      },
    },
    'input',
  ],
  ['gives what is no JSON', { input: () => () => 1 }, 'input'],
  ['gives a number no other reader has', { input: () => ({ n: 2 ** 60 }) }, 'input'],
  ['names nothing', { key: () => undefined as never }, 'key'],
  ['names it by nothing', { key: () => '' as never }, 'key'],
  ['names it by half a surrogate pair', { key: () => '\ud800' as never }, 'key'],
])('a mapping that %s is 422, and the log says where', (_what, over, member) => {
  errors.length = 0;
  const hook = hookFrom({ kind: 'json', api: 'g/a', key: () => 'k', input: () => ({}), ...over });
  expect(() => read({}, hook)).toThrow(problem({ status: 422, code: 'unmapped_event' }));
  expect(errors).toMatchObject([['the mapping of a hook threw', { source: 'h', member }]]);
});

test('a body may have a million bytes, and must be said to be JSON', () => {
  expect(hookBody(hookEvent('h', 'x'.repeat(1_000_000)))).toHaveLength(1_000_000);
  const tooLarge = problem({ status: 413, code: 'too_large' });
  expect(() => hookBody(hookEvent('h', 'x'.repeat(1_000_001)))).toThrow(tooLarge);
  const unsupported = problem({ status: 415, code: 'unsupported_media_type' });
  expect(() => hookBody(hookEvent('h', '{}', { headers: { 'content-type': 'text/plain' } }))).toThrow(unsupported);
});
