import { onTestFinished } from 'vitest';
import { RedisConnection } from '../../lib/adapters/redis/connection.ts';
import { redisGate } from '../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import type { Limits } from '../../lib/domain/tiers.ts';
import { hour } from '../../lib/domain/time.ts';
import { type Gate, Unavailable } from '../../lib/ports.ts';
import { ask, noLimits, silent } from './gate.ts';

/** A gate as a process has it: a client of its own, that finds the cluster through one node. */
export function gateAt(port: number, stage: string, limits: Partial<Limits> = {}): Gate {
  const connection = new RedisConnection({ url: `redis://127.0.0.1:${port}`, log: silent });
  onTestFinished(() => connection.discard());
  return redisGate({ connection, keys: cellKeys(stage), limits: { ...noLimits, ...limits }, startWindowMs: hour });
}

export type Call = { readonly at: number; readonly ms: number; readonly kind: string };

/** Processes that admit one task after another until `stop`; each keeps what each call led to and how long it took. */
export function startLoad(gates: readonly Gate[]): { calls: Call[][]; stop(): Promise<void> } {
  let isOver = false;
  const calls: Call[][] = gates.map(() => []);
  const loops = gates.map(async (gate, at) => {
    while (!isOver) {
      const begun = performance.now();
      const kind = await gate.admit(ask()).then(
        (reply) => reply.kind,
        (error: unknown) => {
          if (error instanceof Unavailable) return 'unavailable';
          throw error;
        },
      );
      calls[at]?.push({ at: begun, ms: performance.now() - begun, kind });
    }
  });
  return {
    calls,
    async stop() {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

export function countOf(calls: readonly (readonly Call[])[], kind: string): number {
  return calls.flat().filter((call) => call.kind === kind).length;
}
