import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Cell, In } from '../../lib/adapters/redis/cell.ts';
import type { Argument, Script } from '../../lib/adapters/redis/script.ts';
import { admitScript, confirmScript, peekScript, refuseScript } from '../../lib/adapters/redis/scripts/admission.ts';
import { limitsScript, restoreScript } from '../../lib/adapters/redis/scripts/cell-settings.ts';
import { rateScript, settleScript } from '../../lib/adapters/redis/scripts/rates.ts';
import {
  acquireScript,
  aliveScript,
  extendScript,
  keepScript,
  releaseScript,
} from '../../lib/adapters/redis/scripts/slots.ts';
import { ledgerScript, observeScript, timesScript } from '../../lib/adapters/redis/scripts/views.ts';
import type { Call, CallStep } from './steps.ts';

export type AnyScript = Script<In<never>, unknown>;
export type Scripts = Readonly<Record<Call, AnyScript>>;

/** The scripts as the gate binds them, so that a walk also tests how arguments are put together and replies read. */
export const theScripts: Scripts = {
  peek: peekScript,
  admit: admitScript,
  refuse: refuseScript,
  rate: rateScript,
  settle: settleScript,
  confirm: confirmScript,
  acquire: acquireScript,
  extend: extendScript,
  keep: keepScript,
  release: releaseScript,
  alive: aliveScript,
  observe: observeScript,
  ledger: ledgerScript,
  times: timesScript,
  setLimits: limitsScript,
  restore: restoreScript,
};

/** The same scripts with other texts. */
export function rewritten(scripts: Scripts, rewrite: (source: string, call: Call) => string): Scripts {
  const each = Object.entries(scripts).map(([call, script]) => {
    const source = rewrite(script.source, call as Call);
    return [call, { ...script, source, sha1: createHash('sha1').update(source).digest('hex') }];
  });
  return Object.fromEntries(each) as Scripts;
}

export async function loadScripts(redis: Redis, scripts: Scripts): Promise<void> {
  for (const { source } of Object.values(scripts)) await redis.script('LOAD', source);
}

export type Command = readonly [name: string, ...args: Argument[]];

export function commandOf(scripts: Scripts, cell: Cell, { call, input, short }: CallStep): Command {
  const script = scripts[call];
  const given = { cell, input: input as never };
  const keys = script.keys(given);
  const args = script.args(given);
  return ['evalsha', script.sha1, keys.length, ...keys, ...(short ? args.slice(0, -1) : args)];
}

export function readAnswer(scripts: Scripts, cell: Cell, { call, input }: CallStep, raw: unknown): unknown {
  return scripts[call].reply(raw, { cell, input: input as never });
}
