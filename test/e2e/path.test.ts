import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { end, get, type LocalStack, post, postFrom, send, startLocalStack } from '../support/stack.ts';

let stack: LocalStack;
let probes: string;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  let calls = 0;
  receiver = await startReceiver((_, response) => response.writeHead(calls++ === 0 ? 500 : 204).end());
  stack = await startLocalStack({
    WEIR_OPERATOR_TOKEN: 'e2e-operator-token',
    WEIR_CALLBACKS_TRUSTED_ORIGINS: receiver.origin,
  });
  probes = `${stack.url}/examples/probe/tasks`;
});
afterAll(async () => {
  receiver.close();
  const pids = stack.state().functions.map(({ pid }) => pid);
  expect(await stack.stop()).toBe(0);
  for (const pid of [...pids]) expect(() => process.kill(pid, 0)).toThrow();
});

function probe(over: Record<string, unknown> = {}) {
  return { input: { ms: 0, tag: randomBytes(6).toString('hex'), ...over } };
}

/** A PDF of one page that says `text`. */
function pdfSaying(text: string): string {
  const stream = `BT /F1 24 Tf 50 100 Td (${text}) Tj ET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${stream.length}>>stream\n${stream}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = body.length;
    body += `${index + 1} 0 obj${object}endobj\n`;
    return String(offset).padStart(10, '0');
  });
  const table = offsets.map((offset) => `${offset} 00000 n \n`).join('');
  return `${body}xref\n0 6\n0000000000 65535 f \n${table}trailer<</Size 6/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF`;
}

function pdfForm(content: string | Uint8Array<ArrayBuffer>, to = 'text'): FormData {
  const form = new FormData();
  form.set('input', new Blob([JSON.stringify({ to })], { type: 'application/json' }));
  form.set('document', new Blob([content], { type: 'application/pdf' }), 'a.pdf');
  return form;
}

describe('the path', () => {
  test('a PDF comes back as text', async () => {
    const answer = await post(`${stack.url}/conversions/pdf/tasks`, pdfForm(pdfSaying('Over the weir')));
    expect(answer).toMatchObject({
      status: 202,
      body: { status: 'queued', api: 'conversions/pdf', dedup: { kind: 'miss' } },
    });
    expect(answer.headers.get('location')).toBe(answer.body.statusUrl);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    const task = await end(stack, answer.body.id);
    expect(task.status).toBe('succeeded');
    expect(JSON.stringify(task.result)).toContain('Over the weir');
  });

  test('a damaged PDF fails with a code at its first attempt', async () => {
    const { body } = await post(`${stack.url}/conversions/pdf/tasks`, pdfForm(randomBytes(2_000)));
    expect(await end(stack, body.id)).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'damaged_pdf' } });
  });

  test('a probe that fails once succeeds as attempt 2; one that fails for good does not run again', async () => {
    const [once, fatal] = await Promise.all([
      post(probes, probe({ failTimes: 1 })),
      post(probes, probe({ failTimes: 9, failWith: 'fatal' })),
    ]);
    expect(await end(stack, once.body.id)).toMatchObject({ status: 'succeeded', attempt: 2 });
    expect(await end(stack, fatal.body.id)).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'probe_failed' },
    });
  });

  test('a callback is told of the end, again until it accepts, signed with the secret the operator reads', async () => {
    const callbackUrl = `${receiver.origin}/hook`;
    const { body } = await post(probes, { ...probe(), options: { callbackUrl } });
    const ended = await end(stack, body.id);
    expect(ended).toMatchObject({ status: 'succeeded', callbackUrl });
    const read = async () => (await get(`${stack.url}/tasks/${body.id}`)).body.delivery;
    await expect.poll(read, { timeout: 30_000 }).toEqual({ status: 'delivered', attempts: 2 });
    expect(receiver.calls.map(({ path, headers }) => `${path} ${headers['webhook-id']}`)).toEqual(
      Array(2).fill(`/hook ${body.id}`),
    );
    const authorization = 'Bearer e2e-operator-token';
    const { secret } = (await get(`${stack.url}/operator/webhook-secret?tenant=open`, { authorization })).body;
    for (const call of receiver.calls) {
      const told = new Webhook(String(secret)).verify(call.body, call.headers as Record<string, string>);
      expect(told).toMatchObject({ type: 'task.succeeded', data: { id: body.id, result: ended.result } });
    }
  });
});

describe('limits', () => {
  test('thirty at once on 4 + 20: 24 enter, 6 are told why and when, never more than 4 run, all 24 succeed', async () => {
    await idle();
    // Instances start and connect now, so that all thirty are decided before the first probe ends, and within the deadline of Redis.
    const first = probe({ ms: 0 });
    await Promise.all(Array.from({ length: 16 }, () => post(probes, first)));
    await idle();
    const slots = watchSlots();
    const answers = await Promise.all(Array.from({ length: 30 }, () => post(probes, probe({ ms: 6_000 }))));
    const accepted = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status === 503);
    expect([accepted.length, refused.length]).toEqual([24, 6]);
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({
        code: 'pool_full',
        tier: 'pool',
        name: 'examples',
        inUse: 24,
        limit: 24,
        'violated-policies': ['pool:examples'],
      });
      expect(Number(headers.get('retry-after'))).toBe(Math.ceil(Number(body.retryAfterMs) / 1_000));
      expect(headers.get('content-type')).toBe('application/problem+json');
    }
    const ended = await Promise.all(accepted.map(({ body }) => end(stack, body.id)));
    expect(ended.map(({ status, attempt }) => `${status} ${attempt}`)).toEqual(Array(24).fill('succeeded 1'));
    expect(await slots.most()).toBe(4);
    await expectNothingHeld();
  });

  test('one body posted twenty times at once is one task', async () => {
    const body = probe({ ms: 300 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(probes, body)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(202));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(
      answers.map((answer) => (answer.body.dedup as { kind: string }).kind).filter((kind) => kind === 'miss'),
    ).toHaveLength(1);
    expect(await end(stack, answers[0]?.body.id)).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(await post(probes, body)).toMatchObject({
      status: 200,
      body: { status: 'succeeded', dedup: { kind: 'reused' } },
    });
  });

  test('a changed byte in a file is another task', async () => {
    const url = `${stack.url}/conversions/pdf/tasks`;
    const [one, same, other] = [
      await post(url, pdfForm(pdfSaying('one'))),
      await post(url, pdfForm(pdfSaying('one'))),
      await post(url, pdfForm(pdfSaying('two'))),
    ];
    expect(same.body.id).toBe(one.body.id);
    expect(other.body.id).not.toBe(one.body.id);
  });
});

describe('reading', () => {
  test('the status straight after a 202 is found; a long poll answers at the change; an ETag answers 304', async () => {
    const { body } = await post(probes, probe({ ms: 1_500 }));
    const url = `${stack.url}/tasks/${body.id}`;
    const first = await get(url);
    expect(first).toMatchObject({ status: 200, body: { id: body.id, api: 'examples/probe' } });
    await end(stack, body.id);
    const done = await get(url);
    const etag = done.headers.get('etag') ?? '';
    expect(await get(url, { 'if-none-match': etag })).toMatchObject({ status: 304, body: {} });
    expect(await get(`${url}?wait=20`, { prefer: 'wait=20' })).toMatchObject({
      status: 200,
      body: { status: 'succeeded' },
    });
    expect(await get(`${url}?wait=soon`)).toMatchObject({ status: 400, body: { code: 'invalid_wait' } });
  });

  test.each(['nonsense', '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'])('the id %s is not found', async (id) => {
    expect(await get(`${stack.url}/tasks/${id}`)).toMatchObject({ status: 404, body: { code: 'unknown_task' } });
  });

  test('queue status and health answer', async () => {
    await idle();
    expect((await get(`${stack.url}/queue/status`)).body).toMatchObject({
      pools: { examples: { running: { inUse: 0, limit: 4 }, inSystem: { inUse: 0, limit: 24 }, pending: 0 } },
      deadLetters: { examples: 0, conversions: 0 },
    });
    expect(await get(`${stack.root}/health`)).toMatchObject({ status: 200, body: { status: 'ok' } });
  });
});

test('kill -9 of a worker in the middle: the slot lapses, reconcile queues the task again, attempt 2 succeeds', async () => {
  await idle();
  const worker = () => stack.state().functions.find(({ name, busy }) => name.includes('work-examples') && busy);
  await expect.poll(worker).toBeUndefined();
  const { body } = await post(probes, probe({ ms: 4_000 }));
  const status = async () => (await get(`${stack.url}/tasks/${body.id}`)).body.status;
  await expect.poll(status, { timeout: 10_000 }).toBe('running');
  await expect.poll(worker).toBeDefined();
  process.kill(worker()?.pid ?? Number.NaN, 'SIGKILL');
  expect(await heldSlots()).toBe(1);
  await expect.poll(heldSlots, { timeout: 20_000, interval: 250 }).toBe(0);
  await expect
    .poll(() => stack.invoke('weir-main-reconcile'), { timeout: 20_000, interval: 500 })
    .toMatchObject({ requeued: 1 });
  expect(await end(stack, body.id)).toMatchObject({ status: 'succeeded', attempt: 2 });
  await expectNothingHeld();
});

describe('the operator', () => {
  const operator = { authorization: 'Bearer e2e-operator-token' };
  const limits = () => `${stack.url}/operator/limits`;

  test('without the token every operator route answers 401', async () => {
    for (const route of ['limits', 'slots', 'webhook-secret?tenant=open']) {
      expect(await get(`${stack.url}/operator/${route}`)).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      });
      const wrong = await get(`${stack.url}/operator/${route}`, { authorization: 'Bearer wrong' });
      expect(wrong).toMatchObject({ status: 401 });
    }
  });

  test('changes a limit live: the next post feels it, a stale change is refused, undo is a PUT of what was', async () => {
    await idle();
    const before = await get(limits(), operator);
    expect(before).toMatchObject({
      status: 200,
      body: { version: 0, limits: { pools: { examples: { running: 4, pending: 20 } } } },
    });
    const body = { pools: { examples: { running: 1, pending: 0 } } };
    const dry = await send('PATCH', `${limits()}?dryRun=1`, body, operator);
    expect(dry).toMatchObject({
      status: 200,
      body: { dryRun: true, version: 1, effects: [{ limit: 'running', from: 4, to: 1 }, {}] },
    });
    const changed = await send('PATCH', limits(), body, { ...operator, 'if-match': '"0"' });
    expect(changed).toMatchObject({ status: 200, body: { version: 1, changedBy: 'operator' } });
    expect(changed.headers.get('etag')).toBe('"1"');
    expect(await send('PATCH', limits(), body, { ...operator, 'if-match': '"0"' })).toMatchObject({ status: 412 });
    expect(await send('PATCH', limits(), { pools: { examples: { running: 99 } } }, operator)).toMatchObject({
      status: 422,
    });

    const first = await post(probes, probe({ ms: 3_000 }));
    expect(first).toMatchObject({ status: 202, body: { decision: { limitsVersion: 1 } } });
    expect(await post(probes, probe())).toMatchObject({
      status: 503,
      body: { code: 'pool_full', inUse: 1, limit: 1, limitsVersion: 1 },
    });
    const undone = await send('PUT', limits(), before.body.overrides, operator);
    expect(undone).toMatchObject({ status: 200, body: { version: 2, overrides: {} } });
    expect(await post(probes, probe())).toMatchObject({ status: 202 });
    expect((await get(`${limits()}?version=1`, operator)).body).toMatchObject({ overrides: body });
  });

  test('sees who holds which slots', async () => {
    await idle();
    const { body } = await post(probes, probe({ ms: 3_000 }));
    const items = async () => (await get(`${stack.url}/operator/slots?pool=examples`, operator)).body.items;
    await expect
      .poll(items, { timeout: 10_000 })
      .toMatchObject([{ taskId: body.id, tenant: 'open', tier: 'pool', name: 'examples', attempt: 1, permits: 1 }]);
    await end(stack, body.id);
    expect(await items()).toEqual([]);
  });
});

test('who waits is told why and for how long; who will not wait is refused', async () => {
  await idle();
  const running = await Promise.all(Array.from({ length: 4 }, () => post(probes, probe({ ms: 4_000 }))));
  await expect.poll(heldSlots, { timeout: 10_000 }).toBe(4);
  const queued = await post(probes, probe());
  expect(queued.body).toMatchObject({
    queue: { position: 1, etaMs: { p50: expect.any(Number), p90: expect.any(Number) } },
  });
  // The first look of a cold instance may take longer than the 50 ms that a reader waits for Redis.
  await expect
    .poll(async () => (await get(`${stack.url}/tasks/${queued.body.id}`)).body.waitingOn)
    .toEqual([{ tier: 'pool', name: 'examples', inUse: 4, limit: 4, ahead: 0 }]);
  const hasty = await post(probes, { ...probe(), options: { maxWaitMs: 1 } });
  expect(hasty).toMatchObject({ status: 503, body: { code: 'wait_too_long', maxWaitMs: 1, queue: { position: 2 } } });
  await Promise.all([...running, queued].map(({ body }) => end(stack, body.id)));
});

describe('what is refused leaves nothing behind', () => {
  test('broken JSON, unknown api, wrong types, missing file, too large, compressed', async () => {
    await idle();
    const pdf = `${stack.url}/conversions/pdf/tasks`;
    const before = await stack.redis.dbsize();
    const noFile = new FormData();
    noFile.set('input', new Blob(['{"to":"text"}'], { type: 'application/json' }));
    const cases: [Promise<{ status: number; body: Record<string, unknown> }>, number, string][] = [
      [post(probes, '{"input":'), 400, 'malformed_json'],
      [post(probes, { input: { ms: 1, speed: 2 } }), 422, 'invalid_input'],
      [post(`${stack.url}/examples/none/tasks`, probe()), 404, 'unknown_api'],
      [post(probes, 'x', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
      [post(pdf, { input: { to: 'text' } }), 422, 'invalid_input'],
      [post(pdf, noFile), 422, 'invalid_input'],
      [post(pdf, pdfForm('x', 'odt')), 422, 'invalid_input'],
      [post(probes, probe(), { 'idempotency-key': 'a b' }), 400, 'invalid_idempotency_key'],
      [post(probes, JSON.stringify(probe()), { 'content-encoding': 'gzip' }), 415, 'unsupported_encoding'],
      [post(pdf, pdfForm('x'.repeat(4_400_000))), 413, 'too_large'],
    ];
    for (const [answer, status, code] of cases) expect(await answer).toMatchObject({ status, body: { status, code } });
    // Over what a function's event holds, the gateway itself refuses.
    expect(await post(pdf, pdfForm('x'.repeat(6_000_000)))).toMatchObject({ status: 413, body: { status: 413 } });
    expect(await get(`${stack.url}/nowhere`)).toMatchObject({ status: 404 });
    expect(await stack.redis.dbsize()).toBe(before);
    await expectNothingHeld();
  });

  test('a client that goes away in the middle of its body', async () => {
    const before = await stack.redis.dbsize();
    await new Promise<void>((resolve) => {
      const sent = request(probes, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': '1000' },
      });
      sent.on('error', () => resolve());
      sent.write('{"input":{"ms":', () => sent.destroy());
      sent.on('close', () => resolve());
    });
    expect(await get(`${stack.root}/health`)).toMatchObject({ status: 200 });
    expect(await stack.redis.dbsize()).toBe(before);
  });
});

test('of a limit for each address the third task of one is refused, another address still enters', async () => {
  await idle();
  const limits = `${stack.url}/operator/limits`;
  const operator = { authorization: 'Bearer e2e-operator-token' };
  expect(await send('PATCH', limits, { ip: { inSystem: 2 } }, operator)).toMatchObject({ status: 200 });
  const from = (address: string) => postFrom(address, probes, probe({ ms: 5_000 }));
  expect([(await from('127.0.0.2')).status, (await from('127.0.0.2')).status]).toEqual([202, 202]);
  expect(await from('127.0.0.2')).toMatchObject({
    status: 429,
    body: { code: 'ip_full', tier: 'ip', name: '127.0.0.2', inUse: 2, limit: 2 },
  });
  expect((await from('127.0.0.3')).status).toBe(202);
  expect(await send('PATCH', limits, { ip: null }, operator)).toMatchObject({ status: 200 });
  expect((await from('127.0.0.2')).status).toBe(202);
});

/** Slots held now in pool examples, by the rule the gate counts by. */
async function heldSlots(): Promise<number> {
  return count('slots');
}

async function count(kind: 'seats' | 'slots'): Promise<number> {
  const [seconds = '0'] = await stack.redis.time();
  return stack.redis.zcount(`{weir:main:0}:${kind}:pool:examples`, `(${Number(seconds) * 1_000}`, '+inf');
}

/** Looks at the ledger in Redis as often as it answers; `most` stops and tells the highest count seen. */
function watchSlots() {
  let most = 0;
  let over = false;
  const watching = (async () => {
    while (!over) most = Math.max(most, await heldSlots());
  })();
  watching.catch(() => undefined);
  return {
    async most(): Promise<number> {
      over = true;
      await watching;
      return most;
    },
  };
}

async function idle(): Promise<void> {
  await expect.poll(() => count('seats'), { timeout: 60_000, interval: 100 }).toBe(0);
}

async function expectNothingHeld(): Promise<void> {
  await expect.poll(async () => [await count('seats'), await count('slots')], { timeout: 10_000 }).toEqual([0, 0]);
}
