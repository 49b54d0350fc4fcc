import { createDeadlineMs } from '../../domain/protocol.ts';
import type { RateRules } from '../../domain/rates.ts';
import type { Limits } from '../../domain/tiers.ts';
import { day, type EpochMs, toEpochMs } from '../../domain/time.ts';
import type { Gate } from '../../ports.ts';
import type { Cell } from './cell.ts';
import { dropClientSeats } from './client-seats.ts';
import type { RedisConnection } from './connection.ts';
import type { CellKeys } from './keys.ts';
import { oldHolders } from './old-holders.ts';
import { admitScript, confirmScript, peekScript, refuseScript } from './scripts/admission.ts';
import { limitsScript, restoreScript, singleScript } from './scripts/cell-settings.ts';
import { rateScript, settleScript } from './scripts/rates.ts';
import { acquireScript, aliveScript, extendScript, keepScript, releaseScript } from './scripts/slots.ts';
import { ledgerScript, observeScript, seatsScript, timesScript } from './scripts/views.ts';

/** A pointer answers duplicates of a live task; when it lapses first, DynamoDB's dedup item still does. */
const pointerMs = day;

export type GateOptions = {
  readonly connection: RedisConnection;
  readonly keys: CellKeys;
  readonly limits: Limits;
  readonly rates?: RateRules | undefined;
  readonly startWindowMs: number;
  /** Tests alone name the moment; otherwise each script asks the server's clock. */
  readonly now?: (() => EpochMs) | undefined;
};

export function redisGate({ connection, ...options }: GateOptions): Gate {
  const cell: Cell = { ...options, lockMs: createDeadlineMs, pointerMs };
  /** How far Redis's clock is ahead of ours, at most: its moment against ours before it was asked. Every post peeks first. */
  let aheadMs: number | undefined;
  const notAfter = () =>
    aheadMs === undefined || cell.now !== undefined
      ? undefined
      : toEpochMs(Date.now() + aheadMs + connection.deadlineMs);
  return {
    async peek(input) {
      const askedAt = Date.now();
      const reply = await connection.run(peekScript, { cell, input });
      if ('now' in reply) aheadMs = reply.now - askedAt;
      return reply;
    },
    admit: (input) => connection.run(admitScript, { cell, input: { notAfter: notAfter(), ...input } }),
    refuse: (input) => connection.run(refuseScript, { cell, input }),
    rate: (input) => connection.run(rateScript, { cell, input }),
    settle: (input) => connection.run(settleScript, { cell, input }),
    confirm: (input) => connection.run(confirmScript, { cell, input }),
    acquire: (input) => connection.run(acquireScript, { cell, input }),
    extend: (input) => connection.run(extendScript, { cell, input }),
    keep: (input) => connection.run(keepScript, { cell, input }),
    release: (input) => connection.run(releaseScript, { cell, input }),
    alive: (input) => connection.run(aliveScript, { cell, input }),
    observe: (input) => connection.run(observeScript, { cell, input }),
    dropClientSeats: (tasks) => dropClientSeats(connection, options.keys, tasks),
    oldHolders: (before) => oldHolders(connection, options.keys, before),
    seats: (input) => connection.run(seatsScript, { cell, input }),
    ledger: (input) => connection.run(ledgerScript, { cell, input }),
    times: (input) => connection.run(timesScript, { cell, input }),
    setLimits: (input) => connection.run(limitsScript, { cell, input }),
    restore: (input) => connection.run(restoreScript, { cell, input }),
    single: (input) => connection.run(singleScript, { cell, input }),
    now: () =>
      connection.call('time', async (client) => {
        const [seconds, micros] = await client.time();
        return toEpochMs(Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000));
      }),
  };
}
