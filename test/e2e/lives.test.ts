import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertmanagerBody } from '../support/hooks.ts';
import { end, get, type LocalStack, post, send, startLocalStack } from '../support/stack.ts';

const operator = { authorization: 'Bearer e2e-operator-token' };
let stack: LocalStack;
let probes: string;

beforeAll(async () => {
  stack = await startLocalStack({ WEIR_OPERATOR_TOKEN: 'e2e-operator-token' });
  probes = `${stack.url}/examples/probe/tasks`;
});
afterAll(async () => {
  expect(await stack.stop()).toBe(0);
});

async function accept(input: Record<string, unknown>): Promise<string> {
  const { status, body } = await post(probes, { input: { ms: 0, tag: randomBytes(6).toString('hex'), ...input } });
  expect(status).toBe(202);
  return body.id ?? '';
}

const task = async (id: string) => (await get(`${stack.url}/tasks/${id}`)).body;
const cancel = (id: string) => send('DELETE', `${stack.url}/tasks/${id}`, '', {});
const workers = () => stack.state().functions.filter(({ name, busy }) => name.includes('work-examples') && busy);
const heldSlots = () => stack.redis.zcard('{weir:main:0}:slots:pool:examples');

describe('cancel', () => {
  test('a running task is cancelled at once and its slot is free a heartbeat later; who came too late hears the state', async () => {
    const id = await accept({ ms: 60_000 });
    await expect.poll(async () => (await task(id)).status, { timeout: 10_000 }).toBe('running');
    expect(await cancel(id)).toMatchObject({ status: 200, body: { id, status: 'cancelled' } });
    expect(await cancel(id)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    await expect.poll(heldSlots, { timeout: 5_000 + 4_000, interval: 100 }).toBe(0);
    const done = await accept({});
    await end(stack, done);
    expect(await cancel(done)).toMatchObject({ status: 409, body: { code: 'already_finished', state: 'succeeded' } });
    expect(await cancel('01900000-0000-7000-8000-000000000000')).toMatchObject({ status: 404 });
    expect(await cancel('nonsense')).toMatchObject({ status: 404 });
  });
});

test('a worker that stands still for longer than its lease loses its task to another, and what it says later counts nowhere; one that blocks its event loop as long keeps it', async () => {
  const frozen = await accept({ ms: 3_000, progressSteps: 3 });
  await expect.poll(async () => (await task(frozen)).status, { timeout: 10_000 }).toBe('running');
  await expect.poll(() => workers().length).toBe(1);
  const pid = workers()[0]?.pid ?? Number.NaN;
  process.kill(pid, 'SIGSTOP');
  const blocked = await accept({ cpuMs: 17_000, ignoreAbort: true });
  await expect.poll(heldSlots, { timeout: 10_000 }).toBe(2);
  // The lease of the frozen one, and then its task is queued again.
  await expect
    .poll(() => stack.invoke('weir-main-reconcile'), { timeout: 30_000, interval: 1_000 })
    .toMatchObject({ requeued: 1 });
  const ended = await end(stack, frozen);
  expect(ended).toMatchObject({ status: 'succeeded', attempt: 2, result: { attempt: 2 } });
  expect(await end(stack, blocked)).toMatchObject({ status: 'succeeded', attempt: 1 });
  process.kill(pid, 'SIGCONT');
  await expect.poll(() => workers().some((worker) => worker.pid === pid), { timeout: 20_000 }).toBe(false);
  expect(await task(frozen)).toEqual(ended);
  expect(await heldSlots()).toBe(0);
  expect(await stack.redis.hlen('{weir:main:0}:holders')).toBe(0);
});

describe('the operator', () => {
  const dead = () => get(`${stack.url}/operator/dead-letters`, operator);
  const redrive = (body: unknown) => post(`${stack.url}/operator/dead-letters/redrive`, body, operator);

  test('sees what was given up, and has it done again', async () => {
    const id = await accept({ failTimes: 3, tag: 'given up' });
    await end(stack, id);
    await expect
      .poll(async () => (await dead()).body.items, { timeout: 10_000 })
      .toMatchObject([{ id, error: { code: 'probe_failed' } }]);
    const filter = { api: 'examples/probe' };
    expect(await redrive({ filter, dryRun: true })).toMatchObject({
      status: 200,
      body: { matched: 1, complete: true },
    });
    expect(await redrive({ filter })).toMatchObject({ status: 202, body: { matched: 1, status: 'running' } });
    const state = async () => (await get(`${stack.url}/operator/dead-letters/redrive`, operator)).body;
    await expect.poll(state, { timeout: 20_000 }).toMatchObject({ status: 'done', redriven: 1 });
    const { body } = await get(`${stack.url}/tasks?limit=1`);
    const [again] = body.items as { id: string }[];
    expect(again?.id).not.toBe(id);
    await end(stack, again?.id);
    expect((await redrive({ filter: { ids: [id] } })).body).toMatchObject({ matched: 0, status: 'done' });
    expect(await redrive({ filter: { colour: 'red' } })).toMatchObject({ status: 422 });
  });

  test('pauses a pool: nothing starts, and then it goes on', async () => {
    const change = (how: string, body: unknown = {}) =>
      post(`${stack.url}/operator/pools/examples/${how}`, body, operator);
    expect(await change('pause')).toMatchObject({ status: 200, body: { paused: true, admission: 'continue' } });
    const id = await accept({});
    await sleep(1_500);
    expect(await task(id)).toMatchObject({ status: 'queued', attempt: 0, waitingOn: [{ tier: 'pool', paused: true }] });
    expect(await change('pause', { admission: 'refuse' })).toMatchObject({ body: { admission: 'refuse' } });
    expect(await post(probes, { input: { tag: 'refused' } })).toMatchObject({ status: 503, body: { code: 'paused' } });
    expect((await get(`${stack.url}/queue/status`)).body.pools).toMatchObject({
      examples: { paused: true, pending: 1 },
    });
    await change('resume');
    expect(await end(stack, id)).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(await post(`${stack.url}/operator/pools/nope/pause`, {}, operator)).toMatchObject({ status: 404 });
    expect(await change('pause', { admission: 'perhaps' })).toMatchObject({ status: 422 });
  });

  test('without the token none of this answers', async () => {
    expect(await get(`${stack.url}/operator/dead-letters`)).toMatchObject({ status: 401 });
    expect(await post(`${stack.url}/operator/dead-letters/redrive`, {})).toMatchObject({ status: 401 });
    expect(await post(`${stack.url}/operator/pools/examples/pause`, {})).toMatchObject({ status: 401 });
  });
});

test('a client lists its tasks page by page', async () => {
  const seen: string[] = [];
  let cursor = '';
  do {
    const { status, body } = await get(`${stack.url}/tasks?limit=2&status=succeeded${cursor}`);
    expect(status).toBe(200);
    seen.push(...(body.items as { id: string }[]).map(({ id }) => id));
    cursor = body.nextCursor === undefined ? '' : `&cursor=${body.nextCursor}`;
  } while (cursor !== '');
  expect(seen.length).toBeGreaterThanOrEqual(4);
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toEqual([...seen].sort().reverse());
  expect(await get(`${stack.url}/tasks?cursor=forged.cursor`)).toMatchObject({
    status: 400,
    body: { code: 'invalid_cursor' },
  });
});

test('an alert group that fires starts one task, once its sender has the secret that the operator reads', async () => {
  const hook = `${stack.url}/hooks/alerts`;
  const secretUrl = `${stack.url}/operator/hook-secret?source=alerts`;
  expect(await get(secretUrl)).toMatchObject({ status: 401 });
  const { secret } = (await get(secretUrl, operator)).body;
  const sender = { authorization: `Bearer ${secret}` };
  const event = alertmanagerBody({ groupKey: `{}:{run="${randomBytes(6).toString('hex')}"}` });
  expect(await post(hook, event)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  const first = await post(hook, event, sender);
  expect(first).toMatchObject({ status: 202, body: { api: 'examples/probe', dedup: { kind: 'miss', by: 'event' } } });
  const again = await post(hook, { ...event, truncatedAlerts: 3 }, sender);
  expect(again).toMatchObject({ status: 202, body: { id: first.body.id, dedup: { kind: 'joined' } } });
  expect(await post(hook, { ...event, status: 'resolved' }, sender)).toMatchObject({ status: 204 });
  expect(await end(stack, first.body.id ?? '')).toMatchObject({ status: 'succeeded', result: { tag: event.groupKey } });
  expect((await post(hook, event, sender)).body).toMatchObject({ dedup: { kind: 'miss' } });
});
