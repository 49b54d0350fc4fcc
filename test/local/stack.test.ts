import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newDataDir, type Runner, removeDataDir, spawnRunner, until } from './runner.ts';

let runner: Runner;
let sqs: SQSClient;

beforeAll(async () => {
  runner = spawnRunner(newDataDir(), { ONLY_THE_RUNNERS: 'x' });
  await runner.ready();
  sqs = new SQSClient({
    endpoint: `http://127.0.0.1:${runner.state().sqs?.port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
}, 60_000);

afterAll(async () => {
  sqs.destroy();
  runner.child.kill('SIGTERM');
  await runner.exit();
  removeDataDir(runner.dataDir);
});

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const get = (path: string, headers: Record<string, string> = {}) => fetch(runner.url() + path, { headers });

describe('the gateway', () => {
  test('keeps every byte of a binary body, both ways', async () => {
    const body = Buffer.concat(Array.from({ length: 1000 }, () => everyByte));
    const headers = { 'Content-Type': 'application/octet-stream' };
    const sent = await fetch(`${runner.url()}/things`, { method: 'POST', body, headers });
    expect(await sent.json()).toMatchObject({ sha256: sha256(body), event: { isBase64Encoded: true } });
    const got = await get('/things/1', { 'X-Answer': 'binary', Accept: 'application/octet-stream' });
    expect(Buffer.from(await got.arrayBuffer())).toEqual(everyByte);
  });

  test('gives a base64 body as text to a client that does not accept the binary type', async () => {
    const got = await get('/things/1', { 'X-Answer': 'binary', Accept: 'application/json' });
    expect(await got.text()).toBe(everyByte.toString('base64'));
  });

  test('reads another body as UTF-8, also when it comes in chunks', async () => {
    const text = 'käse ☃';
    const stream = new Blob([text]).stream();
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      body: stream,
      duplex: 'half',
      headers: { 'Content-Type': 'application/json' },
    };
    const sent = await fetch(`${runner.url()}/things`, init);
    expect(await sent.json()).toMatchObject({ body: text, event: { isBase64Encoded: false } });
  });

  test('builds the event of a proxy integration', async () => {
    const { status, body } = await raw('GET', '/things/a%20b?x=1&x=2&y=%C3%A4', [
      ...['X-Multi', 'one', 'x-multi', 'two', 'X-Forwarded-For', '9.9.9.9'],
    ]);
    expect(status).toBe(200);
    const { event, context } = JSON.parse(body);
    expect(event).toMatchObject({
      resource: '/things/{thing}',
      path: '/things/a%20b',
      httpMethod: 'GET',
      pathParameters: { thing: 'a b' },
      queryStringParameters: { x: '2', y: 'ä' },
      multiValueQueryStringParameters: { x: ['1', '2'], y: ['ä'] },
      headers: { 'X-Multi': 'two', 'X-Forwarded-For': '9.9.9.9, 127.0.0.1' },
      multiValueHeaders: { 'X-Multi': ['one', 'two'] },
      requestContext: { stage: 'live', path: '/live/things/a%20b', identity: { sourceIp: '127.0.0.1' } },
      isBase64Encoded: false,
    });
    expect(context).toMatchObject({ functionName: 'Echo', memoryLimitInMB: '256' });
    const bare = JSON.parse((await raw('GET', '/things/special', [])).body).event;
    expect(bare).toMatchObject({ resource: '/things/special', queryStringParameters: null, pathParameters: null });
  });

  test('sends every value of a header', async () => {
    const response = await get('/things/1');
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(response.headers.get('x-one')).toBe('single');
  });

  test('prefers a literal segment, and follows a greedy one', async () => {
    const resource = async (path: string) => JSON.parse(await (await get(path)).text()).event.resource;
    expect(await resource('/things/special')).toBe('/things/special');
    expect(await resource('/things/other')).toBe('/things/{thing}');
    expect(await resource('/files/a/b/c')).toBe('/files/{proxy+}');
  });

  test.each([
    ['an unknown path', 'GET', '/nothing'],
    ['an unknown method', 'DELETE', '/things'],
    ['HEAD that is not defined', 'HEAD', '/things'],
    ['OPTIONS that is not defined', 'OPTIONS', '/things'],
    ['a method that only the variable sibling has', 'PUT', '/things/special'],
  ])('answers %s with its gateway response', async (_, method, path) => {
    const response = await fetch(runner.url() + path, { method });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    if (method !== 'HEAD') {
      expect(await response.json()).toEqual({ title: 'not found', detail: 'Missing Authentication Token' });
    }
  });

  test('refuses a body over 10 MB, and an event over 6 MB', async () => {
    for (const bytes of [10 * 1024 * 1024 + 1, 5 * 1024 * 1024]) {
      const headers = { 'Content-Type': 'application/octet-stream' };
      const response = await fetch(`${runner.url()}/things`, { method: 'POST', body: Buffer.alloc(bytes), headers });
      expect(response.status).toBe(413);
      expect(await response.json()).toEqual({ message: 'Request Too Long' });
    }
  });

  test('answers 502 for a function that throws or gives no proper answer', async () => {
    for (const answer of ['throw', 'malformed']) {
      const response = await get('/things/1', { 'X-Answer': answer });
      expect(response.status).toBe(502);
      expect(await response.json()).toMatchObject({ title: 'server', id: expect.any(String) });
    }
  });

  test('answers 504 when the integration takes too long', async () => {
    const response = await fetch(`${runner.url()}/misc`, { method: 'POST', body: '{"do":"sleep","ms":1200}' });
    expect(response.status).toBe(504);
  });

  test('survives clients that leave in the middle of a body', async () => {
    const { port } = new URL(runner.url());
    for (let count = 0; count < 20; count += 1) {
      const socket = connect(Number(port), '127.0.0.1');
      await new Promise<void>((resolve) => {
        socket.once('connect', () => {
          socket.write('POST /live/things HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf', () => {
            socket.destroy();
            resolve();
          });
        });
      });
    }
    expect((await get('/things/1')).status).toBe(200);
  });
});

describe('an authorizer', () => {
  const asked = async (credential: string | undefined, path = '/guarded') => {
    const response = await get(path, credential === undefined ? {} : { authorization: credential });
    return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
  };

  test('is not asked without its identity source', async () => {
    const { status, headers, body } = await asked(undefined);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer');
    expect(body).toEqual({ title: 'unauthorized' });
    expect(runner.state().functions.some(({ name }) => name === 'Gatekeeper')).toBe(false);
  });

  test.each([
    ['throws Error(Unauthorized)', 'who', 401, { title: 'unauthorized' }],
    ['denies', 'deny', 403, { message: 'User is not authorized to access this resource' }],
    ['throws anything else', 'throw', 500, { title: 'server' }],
    ['gives no policy', 'malformed', 500, { title: 'server' }],
  ])('that %s keeps the function from being called', async (_, credential, status, body) => {
    expect(await asked(credential)).toMatchObject({ status, body });
  });

  test('that allows gives its context to the function, as text', async () => {
    const { status, body } = await asked('allow all', '/guarded/a?x=1&x=2');
    expect(status).toBe(200);
    const { authorizer } = body.event.requestContext;
    expect(authorizer).toMatchObject({
      principalId: 'somebody',
      calls: expect.stringMatching(/^\d+$/),
      admin: 'true',
      integrationLatency: expect.any(Number),
    });
    const seen = JSON.parse(authorizer.event);
    expect(seen).toMatchObject({
      type: 'REQUEST',
      methodArn: expect.stringMatching(/^arn:aws:execute-api:us-east-1:000000000000:\w{10}\/live\/GET\/guarded\/a$/),
      resource: '/guarded/{part}',
      path: '/guarded/a',
      httpMethod: 'GET',
      headers: { authorization: 'allow all' },
      multiValueHeaders: { authorization: ['allow all'] },
      queryStringParameters: { x: '2' },
      multiValueQueryStringParameters: { x: ['1', '2'] },
      pathParameters: { part: 'a' },
      stageVariables: {},
      requestContext: { stage: 'live', path: '/live/guarded/a', identity: { sourceIp: '127.0.0.1' } },
    });
    expect(seen).not.toHaveProperty('body');
  });

  test('is asked once for one credential, and its policy is judged for each method', async () => {
    const calls = async (path: string) => (await asked('allow again', path)).body.event.requestContext.authorizer.calls;
    expect(await calls('/guarded')).toBe(await calls('/guarded/b'));
    expect((await asked('only this')).status).toBe(200);
    expect((await asked('only this', '/guarded/b')).status).toBe(403);
  });
});

describe('a function', () => {
  test('sees its own environment and none of the runner’s', async () => {
    const { environment } = JSON.parse(await (await get('/things/1')).text());
    const { redis, sqs: queueService } = runner.state();
    expect(environment).toMatchObject({
      REDIS_URL: `redis://127.0.0.1:${redis?.port}`,
      QUEUE_URL: runner.state().queues.JobsDF1CC2D4,
      AWS_ENDPOINT_URL_SQS: `http://127.0.0.1:${queueService?.port}`,
      AWS_LAMBDA_FUNCTION_NAME: 'Echo',
      AWS_REGION: 'us-east-1',
    });
    expect(environment).not.toHaveProperty('ONLY_THE_RUNNERS');
  });

  test('past its timeout is killed and fails with the vendor’s words; the next call gets a fresh process', async () => {
    const before = await invoke({ do: 'pid' });
    const late = await invoke({ do: 'spin' });
    expect(late.failed).toBe('Unhandled');
    expect(late.body.errorMessage).toMatch(/^RequestId: \S+ Error: Task timed out after 2\.00 seconds$/);
    const after = await invoke({ do: 'pid' });
    expect(JSON.parse(after.body.body).pid).not.toBe(JSON.parse(before.body.body).pid);
  });

  test('killed while it runs fails that call alone', async () => {
    const { pid } = JSON.parse((await invoke({ do: 'pid' })).body.body);
    const isBusy = () => runner.state().functions.some((each) => each.pid === pid && each.busy);
    await until('the instance is idle', () => !isBusy());
    const failing = invoke({ do: 'sleep', ms: 1500 });
    await until('the instance is busy', isBusy);
    process.kill(pid, 'SIGKILL');
    expect((await failing).body.errorMessage).toMatch(/Runtime exited with error: signal: killed$/);
    expect((await invoke({ do: 'pid' })).failed).toBeNull();
  });

  test('killed while idle does not fail the next call', async () => {
    for (let count = 0; count < 5; count += 1) {
      const { pid } = JSON.parse((await invoke({ do: 'pid' })).body.body);
      process.kill(pid, 'SIGKILL');
      expect((await invoke({ do: 'pid' })).failed).toBeNull();
    }
  });

  test('that exits or answers too much fails', async () => {
    expect((await invoke({ do: 'exit', code: 3 })).body.errorMessage).toMatch(/exit status 3$/);
    expect((await invoke({ do: 'big', bytes: 7_000_000 })).body.errorType).toBe('Function.ResponseSizeTooLarge');
    expect((await invoke({ do: 'throw-later' })).body.errorMessage).toBe('thrown outside the handler');
  });

  test('has at most eight instances; the other calls wait', async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => invoke({ do: 'sleep', ms: 50 })));
    expect(answers.every((answer) => answer.failed === null)).toBe(true);
    await until('the state is settled', () => runner.state().functions.every((instance) => !instance.busy));
    expect(runner.state().functions.filter((instance) => instance.name === 'Misc').length).toBeLessThanOrEqual(8);
  });

  test('unknown to the Invoke API is 404', async () => {
    const response = await fetch(
      `http://127.0.0.1:${runner.state().lambda?.port}/2015-03-31/functions/None/invocations`,
      {
        method: 'POST',
      },
    );
    expect(response.status).toBe(404);
  });
});

describe('the cache and its secret', () => {
  test('the password of the template opens a cluster of one node', async () => {
    const { redis, secrets } = runner.state();
    const response = await fetch(`http://127.0.0.1:${secrets?.port}`, {
      method: 'POST',
      headers: { 'X-Amz-Target': 'secretsmanager.GetSecretValue' },
      body: JSON.stringify({ SecretId: 'Fixture-Password67973E0B' }),
    });
    const { SecretString } = JSON.parse(await response.text());
    const { user, password } = JSON.parse(SecretString);
    expect(user).toBe('app');
    expect(password).toMatch(/^[A-Za-z0-9]{40}$/);
    expect(password).toBe(redis?.password);
    const cluster = new Cluster([{ host: '127.0.0.1', port: redis?.port ?? 0 }], { redisOptions: { password } });
    await cluster.set('key', 'value');
    expect(await cluster.get('key')).toBe('value');
    expect(await cluster.config('GET', 'maxmemory-policy')).toContain('noeviction');
    cluster.disconnect();
  });
});

describe('an event source', () => {
  test('retries only the message a partial answer names', async () => {
    const log = await send('partial', [{ id: 'bad', failTimes: 1 }, { id: 'good' }]);
    await until('the failed one came again', () => starts(log, 'bad').length === 2);
    expect(starts(log, 'bad').map((entry) => entry.receives)).toEqual([1, 2]);
    await queueIsEmpty();
    expect(starts(log, 'good')).toHaveLength(1);
  });

  test('leaves a batch to its visibility time-out when the function throws', async () => {
    const log = await send('crash', [{ id: 'one', crash: 1 }]);
    await until('it came again', () => starts(log, 'one').length === 2);
    const [first, second] = starts(log, 'one');
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(500);
    await queueIsEmpty();
  });

  test('retries all when an identifier is not of the batch', async () => {
    const log = await send('unknown', [{ id: 'one', badAnswer: 'unknown' }]);
    await until('it came again', () => starts(log, 'one').length === 2);
    await queueIsEmpty();
  });

  test('takes an answer of another shape for success', async () => {
    const log = await send('http', [{ id: 'one', httpAnswer: true }]);
    await until('it came', () => starts(log, 'one').length === 1);
    await queueIsEmpty();
    expect(starts(log, 'one')).toHaveLength(1);
  });

  test('never runs more batches than MaximumConcurrency, and uses all of it', async () => {
    const log = await send(
      'many',
      Array.from({ length: 10 }, (_, index) => ({ id: String(index), ms: 150 })),
    );
    await until('all ended', () => entries(log).filter((entry) => entry.what === 'end').length === 10);
    let open = 0;
    let most = 0;
    for (const entry of entries(log)) {
      open += entry.what === 'start' ? 1 : -1;
      most = Math.max(most, open);
    }
    expect(most).toBe(2);
    await queueIsEmpty();
  });

  test('gives records of the vendor’s shape', async () => {
    const log = await send('shape', [{ id: 'one' }]);
    await until('it came', () => starts(log, 'one').length === 1);
    const [entry] = starts(log, 'one');
    expect(entry?.arn).toBe('arn:aws:sqs:us-east-1:000000000000:Fixture-JobsDF1CC2D4');
    expect(entry?.keys).toEqual(
      expect.arrayContaining(['messageId', 'receiptHandle', 'body', 'attributes', 'messageAttributes', 'eventSource']),
    );
  });

  test('lets the queue move a message to its dead-letter queue after maxReceiveCount', async () => {
    const log = await send('dead', [{ id: 'doomed', failTimes: 99 }]);
    const dead = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: runner.state().queues.DeadB2807C34, WaitTimeSeconds: 15 }),
    );
    expect(dead.Messages?.[0]?.Body).toContain('doomed');
    expect(starts(log, 'doomed').map((entry) => entry.receives)).toEqual([1, 2, 3]);
  });
});

type Order = { id: string } & Record<string, unknown>;
type Entry = { id: string; what: string; receives: number; at: number; keys: string[]; arn: string };

async function send(name: string, orders: Order[]): Promise<string> {
  const log = join(runner.dataDir, `${name}.jsonl`);
  await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: runner.state().queues.JobsDF1CC2D4,
      Entries: orders.map((order, index) => ({ Id: String(index), MessageBody: JSON.stringify({ log, ...order }) })),
    }),
  );
  return log;
}

function entries(log: string): Entry[] {
  try {
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}

function starts(log: string, id: string): Entry[] {
  return entries(log).filter((entry) => entry.id === id && entry.what === 'start');
}

async function queueIsEmpty(): Promise<void> {
  await until('the queue is empty', async () => {
    const { Attributes: counts } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: runner.state().queues.JobsDF1CC2D4, AttributeNames: ['All'] }),
    );
    return counts?.ApproximateNumberOfMessages === '0' && counts.ApproximateNumberOfMessagesNotVisible === '0';
  });
}

async function invoke(
  order: object,
): Promise<{ failed: string | null; body: Record<string, string> & { body: string } }> {
  const response = await fetch(
    `http://127.0.0.1:${runner.state().lambda?.port}/2015-03-31/functions/Misc/invocations`,
    {
      method: 'POST',
      body: JSON.stringify(order),
    },
  );
  return { failed: response.headers.get('x-amz-function-error'), body: JSON.parse(await response.text()) };
}

// With headers exactly as given: their case, their order, the same one twice.
function raw(method: string, path: string, headers: string[]): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const url = new URL(runner.url() + path);
    const sent = request(url, { method, headers: ['Host', url.host, ...headers] }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on('error', reject).end();
  });
}
