import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, describe, expect, test } from 'vitest';
import { isAlive } from '../../local/running-process.ts';
import { startRedis } from '../../local/services/redis.ts';
import { areGone, newDataDir, pidsOf, type Runner, removeDataDir, spawnRunner, until } from './runner.ts';

const dataDir = newDataDir();
const runners: Runner[] = [];

afterAll(async () => {
  for (const { child } of runners) child.kill('SIGTERM');
  await Promise.all(runners.map((runner) => runner.exit()));
  removeDataDir(dataDir);
});

function start(folder = dataDir, environment: Record<string, string> = {}): Runner {
  const runner = spawnRunner(folder, environment);
  runners.push(runner);
  return runner;
}

function clients(runner: Runner) {
  const settings = (port: number | undefined) => ({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const { dynamodb, sqs } = runner.state();
  return { dynamodb: new DynamoDBClient(settings(dynamodb?.port)), sqs: new SQSClient(settings(sqs?.port)) };
}

function printedToken(runner: Runner): string | undefined {
  return /The fixture token\n\s+([A-Za-z0-9]{32})\n/.exec(runner.said())?.[1];
}

async function readToken(runner: Runner): Promise<string> {
  const kept = Object.keys(JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8')));
  const SecretId = kept.find((name) => name.startsWith('Fixture-Token'));
  const response = await fetch(`http://127.0.0.1:${runner.state().secrets?.port}`, {
    method: 'POST',
    headers: { 'X-Amz-Target': 'secretsmanager.GetSecretValue' },
    body: JSON.stringify({ SecretId }),
  });
  const { SecretString } = JSON.parse(await response.text());
  return JSON.parse(SecretString).token;
}

function filesWith(folder: string, text: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => readFileSync(file).includes(text));
}

const key = { pk: { S: 'a' }, sk: { S: 'b' } };

// One story on one data folder, each test going on where the last one stopped.
describe('on one data folder', () => {
  let password: string | undefined;
  let token: string | undefined;

  test('a first start synthesizes, and its state names every process', { timeout: 60_000 }, async () => {
    const runner = start();
    await runner.ready();
    expect(runner.said()).toContain('synthesized');
    expect(runner.said()).toMatch(/Ask for one thing\n\s+curl http:\/\/127\.0\.0\.1:\d+\/live\/things\/1/);
    expect((await fetch(`${runner.url()}/things/1`)).status).toBe(200);
    await until('the function is in the state', () => runner.state().functions.length === 1);
    expect(pidsOf(runner.state())).toHaveLength(4);
    expect(pidsOf(runner.state()).every(isAlive)).toBe(true);
    expect(statSync(join(dataDir, 'stack.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600);
    password = runner.state().redis?.password;
    token = printedToken(runner);
    expect(await readToken(runner)).toBe(token);

    const { dynamodb, sqs } = clients(runner);
    await dynamodb.send(
      new PutItemCommand({ TableName: runner.state().tables[0], Item: { ...key, note: { S: 'kept' } } }),
    );
    await sqs.send(new SendMessageCommand({ QueueUrl: runner.state().queues.DeadB2807C34, MessageBody: 'kept' }));
  });

  test('a second start is refused and names the first', { timeout: 20_000 }, async () => {
    const [first] = runners;
    const second = start();
    expect(await second.exit()).toBe(1);
    expect(second.said()).toBe(
      `error: already running on the data folder ${dataDir} (pid ${first?.child.pid}): stop it, or set WEIR_DATA and PORT\n`,
    );
    expect(isAlive(first?.child.pid ?? -1)).toBe(true);
  });

  test('a service that is killed comes back on its port with its data', { timeout: 30_000 }, async () => {
    const [runner] = runners;
    if (runner === undefined) throw new Error('no runner');
    const before = runner.state();
    for (const service of [before.redis, before.dynamodb, before.sqs]) {
      if (service === undefined) throw new Error('expected a service in the state file');
      process.kill(service.pid, 'SIGKILL');
    }
    await until('all three are up again', () => runner.said().match(/is up again/g)?.length === 3);
    await until('the state follows', () => pidsOf(runner.state()).every((pid) => isAlive(pid)));
    const after = runner.state();
    expect([after.redis?.port, after.dynamodb?.port, after.sqs?.port]).toEqual([
      before.redis?.port,
      before.dynamodb?.port,
      before.sqs?.port,
    ]);
    const { dynamodb } = clients(runner);
    const { Item } = await dynamodb.send(new GetItemCommand({ TableName: after.tables[0], Key: key }));
    expect(Item?.note).toEqual({ S: 'kept' });
  });

  test('SIGTERM, also twice, leaves no process and no state', { timeout: 20_000 }, async () => {
    const [runner] = runners;
    if (runner === undefined) throw new Error('no runner');
    const pids = pidsOf(runner.state());
    runner.child.kill('SIGTERM');
    runner.child.kill('SIGTERM');
    expect(await runner.exit()).toBe(0);
    expect(areGone(pids)).toBe(true);
    expect(existsSync(join(dataDir, 'stack.json'))).toBe(false);
  });

  test('the next start synthesizes nothing and has the items, messages and secrets', { timeout: 60_000 }, async () => {
    const runner = start();
    await runner.ready();
    expect(runner.said()).toContain('unchanged');
    const { dynamodb, sqs } = clients(runner);
    const { Item } = await dynamodb.send(new GetItemCommand({ TableName: runner.state().tables[0], Key: key }));
    expect(Item?.note).toEqual({ S: 'kept' });
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: runner.state().queues.DeadB2807C34 }));
    expect(Messages?.[0]?.Body).toBe('kept');
    expect(runner.state().redis?.password).toBe(password);
    expect(printedToken(runner)).toBe(token);
  });

  test('what a killed runner left is ended by the next start', { timeout: 60_000 }, async () => {
    const killed = runners.at(-1);
    if (killed === undefined) throw new Error('no runner');
    const { redis, dynamodb } = killed.state();
    killed.child.kill('SIGKILL');
    await killed.exit();
    expect(isAlive(redis?.pid ?? -1)).toBe(true);
    const next = start(dataDir, { WEIR_FIXTURE_TOKEN: 'given by hand' });
    await next.ready();
    expect(next.said()).toContain('unchanged');
    expect(next.said()).toMatch(/The fixture token\n\s+as WEIR_FIXTURE_TOKEN says\n/);
    expect(await readToken(next)).toBe('given by hand');
    expect(filesWith(dataDir, 'given by hand')).toEqual([]);
    expect(next.said()).toContain(`ending redis (pid ${redis?.pid}), left by a runner that was killed`);
    expect(areGone([redis?.pid ?? -1, dynamodb?.pid ?? -1])).toBe(true);
    const { dynamodb: client } = clients(next);
    const { Item } = await client.send(new GetItemCommand({ TableName: next.state().tables[0], Key: key }));
    expect(Item?.note).toEqual({ S: 'kept' });
    next.child.kill('SIGINT');
    expect(await next.exit()).toBe(0);
  });

  test('a signal in the middle of a start leaves no process', { timeout: 30_000 }, async () => {
    const runner = start();
    await until('services are starting', () => runner.said().includes('unchanged'));
    runner.child.kill('SIGINT');
    expect(await runner.exit()).toBe(0);
    expect(existsSync(join(dataDir, 'stack.json'))).toBe(false);
    const again = await startRedis({ dataDir: join(dataDir, 'redis'), password: password ?? '' });
    await again.stop();
  });
});

describe('fails in one line', () => {
  test('when the port is in use', { timeout: 20_000 }, async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const runner = start(newDataDir(), { PORT: port });
    expect(await runner.exit()).toBe(1);
    expect(runner.said()).toBe(`error: port ${port} is in use: stop what uses it, or set PORT to another one\n`);
    taken.close();
    removeDataDir(runner.dataDir);
  });

  test('when the data folder cannot be written', { timeout: 20_000 }, async () => {
    const runner = start('/dev/null/data');
    expect(await runner.exit()).toBe(1);
    expect(runner.said()).toMatch(/^error: cannot write the data folder \/dev\/null\/data: .*\n$/);
  });

  test('when java is missing', { timeout: 30_000 }, async () => {
    const runner = start(newDataDir(), { PATH: '/nowhere' });
    expect(await runner.exit()).toBe(1);
    expect(runner.said()).toMatch(/error: (java|redis-server) is not on PATH: install it .*\n$/);
    removeDataDir(runner.dataDir);
  });
});
