import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { httpWebhooks, type Resolve } from '../../../lib/adapters/webhook/webhooks.ts';
import { openReceiver } from '../../support/receiver.ts';

const request = { headers: { 'webhook-id': 'a', 'content-type': 'application/json' }, body: Buffer.from('{"a":1}') };
const nobody: Resolve = () => Promise.reject(new Error('a name was looked up'));

function trusting(origin: string, over: { resolve?: Resolve; ca?: string; deadlineMs?: number } = {}) {
  return httpWebhooks({ trustedOrigins: [origin], resolve: nobody, ...over });
}

/** A server that answers each connection with these bytes as soon as something comes. */
async function openRaw(answer: string | undefined): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (answer === undefined ? socket.destroy() : socket.write(answer)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a post', () => {
  test('brings method, path, headers and the very bytes', async () => {
    const receiver = await openReceiver();
    const body = Buffer.alloc(400_000, 'ü');
    const posted = await trusting(receiver.origin).post(`${receiver.origin}/hook?a=1`, { ...request, body });
    expect(posted).toEqual({ kind: 'answered', status: 204, retryAfterMs: undefined });
    expect(receiver.calls).toHaveLength(1);
    expect(receiver.calls[0]).toMatchObject({
      path: '/hook?a=1',
      headers: { ...request.headers, connection: 'close' },
    });
    expect(receiver.calls[0]?.headers['content-length']).toBe('400000');
    expect(receiver.calls[0]?.body.equals(body)).toBe(true);
  });

  test('never uses a connection twice', async () => {
    const receiver = await openReceiver();
    const webhooks = trusting(receiver.origin);
    for (let n = 0; n < 3; n++) await webhooks.post(receiver.origin, request);
    expect(receiver.connections()).toBe(3);
  });

  test.each([
    ['120', 120_000],
    [' 7 ', 7_000],
    ['0', undefined],
    ['soon', undefined],
    ['-5', undefined],
    ['Wed, 21 Oct 2015 07:28:00 GMT', undefined],
  ])('tells a Retry-After of %j as %s ms', async (header, retryAfterMs) => {
    const receiver = await openReceiver((_, response) => response.writeHead(503, { 'retry-after': header }).end());
    expect(await trusting(receiver.origin).post(receiver.origin, request)).toEqual({
      kind: 'answered',
      status: 503,
      retryAfterMs,
    });
  });

  test('tells a Retry-After that is a date as the time until then', async () => {
    const date = new Date(Date.now() + 90_000).toUTCString();
    const receiver = await openReceiver((_, response) => response.writeHead(429, { 'retry-after': date }).end());
    const posted = await trusting(receiver.origin).post(receiver.origin, request);
    expect(posted.kind === 'answered' && posted.retryAfterMs).toBeGreaterThan(80_000);
    expect(posted.kind === 'answered' && posted.retryAfterMs).toBeLessThanOrEqual(90_000);
  });
});

describe('of the answer only the head is read', () => {
  test('a redirect is an answer and is not followed', async () => {
    const target = await openReceiver();
    const receiver = await openReceiver((_, response) => response.writeHead(307, { location: target.origin }).end());
    const webhooks = httpWebhooks({ trustedOrigins: [receiver.origin, target.origin] });
    expect(await webhooks.post(receiver.origin, request)).toMatchObject({ kind: 'answered', status: 307 });
    expect(target.calls).toEqual([]);
  });

  test('a body that never ends is left, and its connection with it', async () => {
    let closed = false;
    let written = 0;
    const receiver = await openReceiver((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
      };
      response.on('drain', more).on('close', () => {
        closed = true;
      });
      more();
    });
    const posted = await trusting(receiver.origin).post(receiver.origin, request);
    expect(posted).toMatchObject({ kind: 'answered', status: 200 });
    await expect.poll(() => closed).toBe(true);
    expect(written).toBeLessThan(20_000_000);
  });

  test('a body that is announced and does not come is not waited for', async () => {
    const receiver = await openReceiver((_, response) => response.writeHead(200, { 'content-length': '9' }).write('x'));
    const posted = trusting(receiver.origin, { deadlineMs: 60_000 }).post(receiver.origin, request);
    expect(await posted).toMatchObject({ kind: 'answered', status: 200 });
  });

  test('a change of protocol that nobody asked for is an answer, and nothing else is said', async () => {
    const origin = await openRaw('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello');
    expect(await trusting(origin).post(origin, request)).toMatchObject({ kind: 'answered', status: 101 });
  });

  test('what is said before the answer is not the answer', async () => {
    const origin = await openRaw('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n');
    expect(await trusting(origin).post(origin, request)).toMatchObject({ kind: 'answered', status: 202 });
  });
});

describe('no answer has a reason in our words', () => {
  const secret = 'the receiver wrote this';

  test('after the deadline, whatever hangs: the name, the connection or the answer', async () => {
    const receiver = await openReceiver(() => undefined);
    const late = { kind: 'failed', problem: 'no answer in 0.2 s' };
    expect(await trusting(receiver.origin, { deadlineMs: 200 }).post(receiver.origin, request)).toEqual(late);
    const named = 'http://hooks.test:4000';
    const hanging: Resolve = () => new Promise(() => undefined);
    expect(await trusting(named, { deadlineMs: 200, resolve: hanging }).post(named, request)).toEqual(late);
    let closed = false;
    const dripping = await openReceiver((_, response) => {
      const timer = setInterval(() => response.writeProcessing(), 20);
      response.on('close', () => {
        clearInterval(timer);
        closed = true;
      });
    });
    expect(await trusting(dripping.origin, { deadlineMs: 200 }).post(dripping.origin, request)).toEqual(late);
    await expect.poll(() => closed).toBe(true);
  });

  test.each([
    ['no HTTP', `${secret}\r\n\r\n`, 'its answer is no HTTP'],
    ['a head that is too large', `HTTP/1.1 200 OK\r\nx: ${secret.repeat(2_000)}\r\n\r\n`, 'its answer is no HTTP'],
    ['nothing', undefined, 'it closed the connection before an answer'],
  ])('%s', async (_what, bytes, problem) => {
    const origin = await openRaw(bytes);
    expect(await trusting(origin).post(origin, request)).toEqual({ kind: 'failed', problem });
  });

  test('nobody listens', async () => {
    const receiver = await openReceiver();
    const origin = `http://127.0.0.2:${receiver.port}`;
    expect(await trusting(origin).post(origin, request)).toEqual({ kind: 'failed', problem: 'it refuses connections' });
  });

  test.each([
    ['ENOTFOUND', 'its name has no address'],
    ['EAI_AGAIN', 'its name cannot be looked up at the moment'],
    ['ESOMETHING', 'no connection (ESOMETHING)'],
    [secret, 'no connection'],
    [undefined, 'no connection'],
  ])('the look-up fails with %s: %s', async (code, problem) => {
    const origin = 'http://hooks.test:4000';
    const resolve: Resolve = () => Promise.reject(Object.assign(new Error(secret), { code }));
    expect(await trusting(origin, { resolve }).post(origin, request)).toEqual({ kind: 'failed', problem });
  });

  test('a name without an address', async () => {
    const webhooks = httpWebhooks({ trustedOrigins: [], resolve: async () => [] });
    const problem = 'its name has no address';
    expect(await webhooks.post('https://hooks.test/', request)).toEqual({ kind: 'failed', problem });
  });
});
