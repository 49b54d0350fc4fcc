import { createHash } from 'node:crypto';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { WeirConfig } from '../../lib/config.ts';
import { eventKey } from '../../lib/domain/fingerprint.ts';
import type { HookDeps } from '../../lib/http/hook-route.ts';
import { httpHandler } from '../../lib/http/http-handler.ts';
import { submitRoute } from '../../lib/http/submit-route.ts';
import { admit } from '../../lib/operations/admit.ts';
import { RateBreaker } from '../../lib/operations/rate-breaker.ts';
import { TaskError } from '../../lib/task.ts';
import { drain, openSystem, post } from '../support/deps.ts';
import { ask, dumpCell, silent } from '../support/gate.ts';
import { alertmanagerBody, hookEvent, secretOf } from '../support/hooks.ts';

const hooks: NonNullable<WeirConfig['hooks']> = {
  alerts: {
    kind: 'alertmanager',
    api: 'g/a',
    input: ({ status, alerts }) => (status === 'firing' ? { firing: alerts.length } : undefined),
  },
  builds: { kind: 'json', api: 'g/a', key: ({ build }) => String(build), input: ({ build, log }) => ({ build, log }) },
};
const alert = alertmanagerBody().alerts[0];
const group = (alertname: string, alerts = 1) =>
  alertmanagerBody({ groupKey: `{}:{alertname="${alertname}"}`, alerts: Array(alerts).fill(alert) });

type Answer = { status: number; headers: APIGatewayProxyResult['headers']; body: ReturnType<typeof JSON.parse> };

/** A system with these hooks, and the function `admit` in front of it. */
async function openHooks(options: Parameters<typeof openSystem>[0] = {}) {
  const system = await openSystem({ hooks, ...options });
  const { clock } = system.deps;
  // A rule that the machine is too busy to answer in time lets everybody through.
  const patient = { ...clock, sleep: (ms: number) => clock.sleep(ms * 100) };
  const deps: HookDeps = {
    ...{ ...system.deps, rateBreaker: new RateBreaker(), hookSecret: async (source) => secretOf(source) },
    ...(options?.rates === undefined ? {} : { clock: patient }),
  };
  const handler = httpHandler(silent, submitRoute(deps, 'https://weir.test/api'));
  const send = async (...event: Parameters<typeof hookEvent>): Promise<Answer> => {
    const answer = await handler(hookEvent(...event), {} as never);
    const { statusCode, headers, body } = answer as APIGatewayProxyResult;
    return { status: statusCode, headers, body: body === '' ? undefined : JSON.parse(body) };
  };
  return { system, send };
}

test('an event starts a task with the input that the configuration makes of it', async () => {
  const inputs: unknown[] = [];
  const { system, send } = await openHooks({ run: async ({ input }) => inputs.push(input) });
  const { status, headers, body } = await send('alerts', group('A', 2));
  expect(status).toBe(202);
  expect(body).toMatchObject({ status: 'queued', api: 'g/a', dedup: { kind: 'miss', by: 'event', reuseMs: 0 } });
  expect(headers).toMatchObject({ Location: `https://weir.test/api/v1/tasks/${body.id}`, 'Retry-After': '1' });
  await drain(system);
  expect(inputs).toEqual([{ firing: 2 }]);
});

test('while its task is open the events of a group join it, whatever they say by now; another group has a task of its own', async () => {
  const { system, send } = await openHooks();
  const first = await send('alerts', group('A', 1));
  const again = await send('alerts', group('A', 3));
  expect(again).toMatchObject({ status: 202, body: { id: first.body.id, dedup: { kind: 'joined', by: 'event' } } });
  const other = await send('alerts', group('B'));
  expect(other.body.id).not.toBe(first.body.id);
  // The same name from another source, and a client's post of the same input, are no event of this one.
  const build = await send('builds', { build: '{}:{alertname="A"}' });
  expect(build.body.dedup.kind).toBe('miss');
  const { deps } = system;
  const posted = await admit(deps, post(system, { firing: 1 }, { tenant: 'open' }));
  expect(posted.kind).toBe('admitted');
});

test('of twenty events of one group at once one starts a task, and the others join it', async () => {
  const { send } = await openHooks();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send('alerts', group('A', n + 1))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  expect(answers.filter(({ body }) => body.dedup.kind === 'miss')).toHaveLength(1);
});

test.each<[string, () => Promise<unknown>]>([
  ['succeeded', async () => ({ done: true })],
  [
    'failed',
    async () => {
      throw new TaskError('nope', 'never');
    },
  ],
])('after its task %s, the same event starts a new one', async (_how, run) => {
  const { system, send } = await openHooks({ run });
  const first = await send('alerts', group('A'));
  await drain(system);
  const second = await send('alerts', group('A'));
  expect(second).toMatchObject({ status: 202, body: { dedup: { kind: 'miss' } } });
  expect(second.body.id).not.toBe(first.body.id);
});

test('an event that asks for nothing is 204, and leaves every key as it is', async () => {
  const { system, send } = await openHooks();
  await send('alerts', group('A'));
  const before = await dumpCell(system.connection, system.stage);
  const answer = await send('alerts', { ...group('A'), status: 'resolved' });
  expect([answer.status, answer.body]).toEqual([204, undefined]);
  expect(await dumpCell(system.connection, system.stage)).toBe(before);
});

test('a full pool refuses a new group as it refuses a post, and still knows the groups it has', async () => {
  const { send } = await openHooks({ pool: { running: 1, pending: 0 } });
  const first = await send('alerts', group('A'));
  const refused = await send('alerts', group('B'));
  expect(refused).toMatchObject({ status: 503, body: { code: 'pool_full', inUse: 1, limit: 1 } });
  expect(Number(refused.headers?.['Retry-After'])).toBeGreaterThan(0);
  expect(await send('alerts', group('A', 2))).toMatchObject({ status: 202, body: { id: first.body.id } });
});

test('while another event creates the task and does not come to its end, senders are told to send again, by a status that they repeat', async () => {
  const { system, send } = await openHooks();
  const dedupKey = eventKey({ tenant: 'open', api: 'g/a' }, { source: 'builds', key: '7' });
  expect(await system.deps.gate.admit(ask({ tenant: 'open', dedupKey }))).toMatchObject({ kind: 'admitted' });
  const answer = await send('builds', { build: 7 });
  expect(answer).toMatchObject({ status: 503, body: { code: 'task_creating' }, headers: { 'Retry-After': '1' } });
});

test('what the task does not take is 422 by its path', async () => {
  const { send } = await openHooks({ task: { input: z.strictObject({ firing: z.int().max(1) }) } });
  expect(await send('alerts', group('A', 2))).toMatchObject({
    ...{ status: 422, body: { code: 'invalid_input', errors: [{ path: 'input.firing' }] } },
  });
  const { send: build } = await openHooks();
  expect(await build('builds', { build: 1, log: 'x'.repeat(64_001) })).toMatchObject({
    status: 413,
    body: { part: 'input' },
  });
});

const once = { algorithm: 'fixed-window', limit: 1, periodMs: 86_400_000, calendar: true } as const;

test('who has no credential takes nothing of the source’s rates; whoever they refuse is not read', async () => {
  const { send } = await openHooks({ rates: { hooks: { on: ['hooks'], identity: 'source', ...once } } });
  for (let n = 0; n < 3; n++) {
    const refused = await send('alerts', group('A'), { headers: { authorization: 'Bearer guessed' } });
    expect(refused).toMatchObject({
      status: 401,
      body: { code: 'unauthorized' },
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  expect((await send('alerts', group('A'))).status).toBe(202);
  expect(await send('alerts', 'no JSON')).toMatchObject({
    ...{ status: 429, body: { code: 'rate_limited', rule: 'hooks', limit: 1, remaining: 0 } },
  });
  expect((await send('builds', { build: 1 })).status).toBe(202);
});

test('rules of task routes count an event that starts a task, and none that joins', async () => {
  const { send } = await openHooks({ rates: { tasks: { identity: 'api', ...once } } });
  expect((await send('alerts', group('A'))).status).toBe(202);
  expect((await send('alerts', group('A'))).body.dedup.kind).toBe('joined');
  expect(await send('alerts', group('B'))).toMatchObject({ status: 429, body: { rule: 'tasks' } });
});

test('a source that there is not is 404', async () => {
  const { send } = await openHooks();
  for (const source of ['nope', 'constructor', ''])
    expect(await send(source, group('A'))).toMatchObject({ status: 404, body: { code: 'unknown_hook' } });
});

test('the record keeps what the event was at its start', async () => {
  const { system, send } = await openHooks();
  const { body } = await send('builds', { build: 7 });
  const record = await system.deps.records.read({ tenant: 'open', id: body.id });
  const digest = createHash('sha256').update('7').digest('hex');
  expect(record).toMatchObject({ input: '{"build":7}', dedupKey: `D#open#e#g/a#builds#${digest}` });
});
