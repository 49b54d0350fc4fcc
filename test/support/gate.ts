import { randomUUID } from 'node:crypto';
import { v7 as uuid7 } from 'uuid';
import { inject, onTestFinished } from 'vitest';
import { RedisConnection } from '../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import type { RateRules } from '../../lib/domain/rates.ts';
import { type TaskId, toTaskId } from '../../lib/domain/task-id.ts';
import { type Limits, type Tier, tiersOf } from '../../lib/domain/tiers.ts';
import { type EpochMs, hour, toEpochMs } from '../../lib/domain/time.ts';
import type { Gate, Log } from '../../lib/ports.ts';

export const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function openRedis(deadlineMs = 5_000): RedisConnection {
  const connection = new RedisConnection({
    url: `redis://127.0.0.1:${inject('ports').redis}`,
    deadlineMs,
    log: silent,
  });
  onTestFinished(() => connection.discard());
  return connection;
}

export const noLimits: Limits = { pools: {}, apis: {}, tenant: {}, ip: {} };

/** A cell of its own on the shared server, with an epoch and, where asked, a clock that the test moves. */
export async function openGate(
  limits: Partial<Limits>,
  options: {
    now?: () => EpochMs;
    startWindowMs?: number;
    epoch?: number | null;
    connection?: RedisConnection;
    rates?: RateRules;
  } = {},
): Promise<{ gate: Gate; connection: RedisConnection; stage: string }> {
  const stage = `t${randomUUID().slice(0, 8)}`;
  const connection = options.connection ?? openRedis();
  const gate = redisGate({
    connection,
    keys: cellKeys(stage),
    limits: { ...noLimits, ...limits },
    rates: options.rates,
    startWindowMs: options.startWindowMs ?? hour,
    now: options.now,
  });
  if (options.epoch !== null)
    await gate.restore({ nonce: 'test', lockMs: 1_000, take: true, epoch: options.epoch ?? 1 });
  return { gate, connection, stage };
}

export function newTaskId(): TaskId {
  return toTaskId(uuid7());
}

/** A moment a test may start its own clock at: ahead of the server's, so that no expiry set by it lies in the server's past. */
export function laterThanServer(): EpochMs {
  return toEpochMs(Math.ceil(Date.now() / 1_000) * 1_000 + 10 * hour);
}

export function tiersFor(names: { pool?: string; api?: string; tenant?: string; ip?: string } = {}): Tier[] {
  return tiersOf({ pool: 'p', api: 'g/a', tenant: 't', ip: '192.0.2.1', ...names });
}

/** What `admit` needs, each part as asked or fresh. */
export function ask(over: Partial<Parameters<Gate['admit']>[0]> = {}): Parameters<Gate['admit']>[0] {
  const id = over.id ?? newTaskId();
  return {
    tenant: 't',
    id,
    tiers: tiersFor(),
    permits: 1,
    dedupKey: `D#t#f#${id}`,
    fingerprint: `sha256:${id}`,
    ...over,
  };
}

/** Every lease, lock and limit of the cell as one text: two equal dumps mean that none was written between them. Not the log, nor who was refused. */
export async function dumpCell(connection: RedisConnection, stage: string): Promise<string> {
  return connection.call('dump', async (client) => {
    const node = client.nodes('master')[0];
    if (node === undefined) throw new Error('expected a master');
    const keys: string[] = [];
    for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
      const [next, found] = await node.scan(cursor, 'MATCH', `{weir:${stage}:0}*`, 'COUNT', 1_000);
      keys.push(...found.filter((key) => !/}:(log$|refusals:)/.test(key)));
      cursor = next;
    }
    const dumps = await Promise.all(
      keys.sort().map(async (key) => `${key} ${(await client.dumpBuffer(key))?.toString('hex')}`),
    );
    return dumps.join('\n');
  });
}
