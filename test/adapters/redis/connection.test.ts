import { expect, onTestFinished, test } from 'vitest';
import { RedisConnection } from '../../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import { hour } from '../../../lib/domain/time.ts';
import { Unavailable } from '../../../lib/ports.ts';
import { startRedis } from '../../../local/services/redis.ts';
import { ask, noLimits, openRedis, silent, tiersFor } from '../../support/gate.ts';

async function ownRedis(options: { password?: string } = {}) {
  const service = await startRedis(options);
  onTestFinished(() => service.stop());
  const connection = new RedisConnection({
    url: `redis://127.0.0.1:${service.port}`,
    password: async () => options.password ?? '',
    log: silent,
  });
  onTestFinished(() => connection.discard());
  const gate = redisGate({ connection, keys: cellKeys('own'), limits: noLimits, startWindowMs: hour });
  return { service, connection, gate };
}

test('a password is used', async () => {
  const { gate } = await ownRedis({ password: 'p4ss"word\\' });
  await gate.restore({ nonce: 'test', lockMs: 1_000, take: true, epoch: 1 });
  expect(await gate.admit(ask())).toMatchObject({ kind: 'admitted' });
});

test('a frozen server is given up on within the deadline; nothing sent meanwhile arrives later that was not asked again', async () => {
  const { service, gate } = await ownRedis();
  await gate.restore({ nonce: 'test', lockMs: 1_000, take: true, epoch: 1 });
  await gate.admit(ask());
  process.kill(service.pid, 'SIGSTOP');
  try {
    for (let n = 0; n < 3; n++) {
      const begun = performance.now();
      await expect(gate.peek({ dedupKey: undefined, tiers: tiersFor() })).rejects.toBeInstanceOf(Unavailable);
      // The deadline is 1,000 ms; the rest is room for a loaded machine, and far from "never".
      expect(performance.now() - begun).toBeLessThan(2_000);
    }
  } finally {
    process.kill(service.pid, 'SIGCONT');
  }
  await expect.poll(() => gate.admit(ask()), { timeout: 10_000 }).toMatchObject({ kind: 'admitted' });
});

test('a server that died and came back is used again without a restart of ours', async () => {
  const { service, gate } = await ownRedis();
  await gate.restore({ nonce: 'test', lockMs: 1_000, take: true, epoch: 1 });
  expect(await gate.admit(ask())).toMatchObject({ kind: 'admitted' });
  process.kill(service.pid, 'SIGKILL');
  const answers = new Set<string>();
  const answer = async () => {
    const kind = await gate.admit(ask()).then(
      ({ kind }) => kind,
      (error: unknown) => (error as Error).name,
    );
    answers.add(kind);
    return kind;
  };
  // It kept nothing: without an epoch it decides nothing.
  await expect.poll(answer, { timeout: 20_000 }).toBe('rebuilding');
  expect(await answer()).toBe('rebuilding');
  // Until then it was still there, or it was not.
  for (const known of ['admitted', 'Unavailable', 'rebuilding']) answers.delete(known);
  expect([...answers]).toEqual([]);
});

test('a server that forgot the scripts is told them again', async () => {
  const { connection, gate } = await ownRedis();
  await gate.restore({ nonce: 'test', lockMs: 1_000, take: true, epoch: 1 });
  await gate.admit(ask());
  await connection.call('flush', (client) => client.script('FLUSH'));
  const replies = await Promise.all(Array.from({ length: 20 }, () => gate.admit(ask())));
  expect(replies.every(({ kind }) => kind === 'admitted')).toBe(true);
});

test('nobody there: unavailable, at once', async () => {
  const connection = new RedisConnection({ url: 'redis://127.0.0.1:1', log: silent });
  onTestFinished(() => connection.discard());
  await expect(connection.call('ping', (client) => client.ping())).rejects.toBeInstanceOf(Unavailable);
});

test('a programming error is no outage', async () => {
  const connection = openRedis();
  await expect(
    connection.call('wrong', (client) => client.call('NOSUCH') as Promise<string>),
  ).rejects.not.toBeInstanceOf(Unavailable);
  expect(await connection.call('ping', (client) => client.ping())).toBe('PONG');
});
