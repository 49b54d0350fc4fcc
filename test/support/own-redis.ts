import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { RedisConnection } from '../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import { Outlook } from '../../lib/operations/outlook.ts';
import { startRedis } from '../../local/services/redis.ts';
import type { Service } from '../../local/services/service.ts';
import { openSystem, type System } from './deps.ts';
import { silent } from './gate.ts';
import { withHeart } from './heart.ts';

let service: Service;

/** One server for the tests of a file, which run one after another and may freeze, kill or empty it: whoever dies is started again by itself. */
export function useOwnRedis(): void {
  beforeAll(async () => {
    service = await startRedis();
  });
  afterAll(() => service.stop());
}

/** A new system, that never had an epoch, on the server of `useOwnRedis`. */
export async function openOwnSystem(options: Omit<Parameters<typeof openSystem>[0], 'epoch'> = {}) {
  const system = await openSystem({ ...options, epoch: null });
  const stage = `own-${randomUUID().slice(0, 8)}`;
  const keys = cellKeys(stage);
  const { startWindowMs } = system.deps.weir.times;
  const connection = new RedisConnection({ url: `redis://127.0.0.1:${service.port}`, log: silent });
  onTestFinished(() => connection.discard());
  const gate = redisGate({
    connection,
    keys,
    limits: system.deps.weir.limits,
    rates: system.deps.weir.rates,
    startWindowMs,
  });
  const deps = withHeart({ ...system.deps, gate, outlook: new Outlook({ gate, clock: system.deps.clock }) });
  const own: System = { ...system, deps, connection, stage };
  return {
    ...own,
    keys,
    /** Stops the server's process as a frozen machine would be; always thawed when the test ends. */
    freeze() {
      process.kill(service.pid, 'SIGSTOP');
      onTestFinished(() => this.thaw());
    },
    thaw() {
      process.kill(service.pid, 'SIGCONT');
    },
    /** It dies and is started again at once, with nothing. */
    kill() {
      process.kill(service.pid, 'SIGKILL');
    },
    async forget(): Promise<void> {
      await connection.call('flushall', (client) => client.flushall());
    },
  };
}

export type OwnSystem = Awaited<ReturnType<typeof openOwnSystem>>;
