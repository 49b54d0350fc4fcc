import { createDeadlineMs } from '../../domain/protocol.ts';
import type { Limits } from '../../domain/tiers.ts';
import { day, type EpochMs, toEpochMs } from '../../domain/time.ts';
import type { Gate } from '../../ports.ts';
import type { RedisConnection } from './connection.ts';
import type { CellKeys } from './keys.ts';
import {
  acquireScript,
  admitScript,
  aliveScript,
  type Cell,
  confirmScript,
  extendScript,
  keepScript,
  observeScript,
  peekScript,
  releaseScript,
} from './scripts.ts';

/** A pointer answers duplicates of a live task; when it lapses first, DynamoDB's dedup item still does. */
const pointerMs = day;

export type GateOptions = {
  readonly connection: RedisConnection;
  readonly keys: CellKeys;
  readonly limits: Limits;
  readonly startWindowMs: number;
  /** Tests alone name the moment; otherwise each script asks the server's clock. */
  readonly now?: (() => EpochMs) | undefined;
};

export function redisGate({ connection, ...options }: GateOptions): Gate {
  const cell: Cell = { ...options, lockMs: createDeadlineMs };
  return {
    peek: (input) => connection.run(peekScript, { cell, input }),
    admit: (input) => connection.run(admitScript, { cell, input }),
    confirm: (input) => connection.run(confirmScript, { cell, input: { ...input, pointerMs } }),
    acquire: (input) => connection.run(acquireScript, { cell, input }),
    extend: (input) => connection.run(extendScript, { cell, input }),
    keep: (input) => connection.run(keepScript, { cell, input }),
    release: (input) => connection.run(releaseScript, { cell, input }),
    alive: (input) => connection.run(aliveScript, { cell, input }),
    observe: (input) => connection.run(observeScript, { cell, input }),
    beginEpoch: async (epoch) => {
      await connection.call('beginEpoch', (client) => client.hsetnx(cell.keys.limits, 'epoch', epoch));
    },
    now: () =>
      connection.call('time', async (client) => {
        const [seconds, micros] = await client.time();
        return toEpochMs(Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000));
      }),
  };
}
