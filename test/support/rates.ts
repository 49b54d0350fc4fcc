import { Redis } from 'ioredis';
import { inject, onTestFinished } from 'vitest';
import type { Cell } from '../../lib/adapters/redis/cell.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import { rateScript } from '../../lib/adapters/redis/scripts/rates.ts';
import type { RateReply } from '../../lib/domain/gate-replies.ts';
import type { RateNumbers, RateRule, RateRules } from '../../lib/domain/rates.ts';
import { addMs, type EpochMs, hour } from '../../lib/domain/time.ts';
import type { Gate } from '../../lib/ports.ts';
import { laterThanServer, noLimits } from './gate.ts';

/** A rule named `r`, of everybody together. */
export function ruleOf(numbers: RateNumbers | undefined, over: Partial<RateRule> = {}): RateRules {
  const rule: RateRule = {
    ...{ name: 'r', on: ['tasks'], identity: [], cost: 'requests', whenUnavailable: 'admit', numbers },
    ...over,
  };
  return { [rule.name]: rule };
}

export type Request = { readonly afterMs: number; readonly amount: number };

export function rateServer(): Redis {
  const redis = new Redis({ host: '127.0.0.1', port: inject('ports').redis });
  onTestFinished(() => redis.disconnect());
  return redis;
}

let made = 0;

/** Asks rule `r` for one request after the other, each as long after the one before as it says; many commands are sent at once. */
export async function askAll(
  redis: Redis,
  numbers: RateNumbers,
  requests: readonly Request[],
  from: EpochMs = laterThanServer(),
): Promise<{ readonly at: EpochMs; readonly amount: number; readonly reply: RateReply }[]> {
  let now = from;
  const keys = cellKeys(`rates-${process.pid}-${++made}`);
  const cell: Cell = {
    ...{ keys, limits: noLimits, rates: ruleOf(numbers), lockMs: 1, startWindowMs: hour, pointerMs: 1 },
    now: () => now,
  };
  await redis.script('LOAD', rateScript.source);
  const pipeline = redis.pipeline();
  const asked = requests.map(({ afterMs, amount }) => {
    now = addMs(now, afterMs);
    const given = { cell, input: { asks: [{ rule: 'r', identity: '[]', amount }] } };
    const names = rateScript.keys(given);
    pipeline.callBuffer('evalsha', rateScript.sha1, names.length, ...names, ...rateScript.args(given));
    return { at: now, amount, given };
  });
  const replies = (await pipeline.exec()) ?? [];
  await redis.del(keys.rate({ rule: 'r', identity: '[]' }));
  return asked.map(({ at, amount, given }, index) => {
    const [error, raw] = replies[index] ?? [new Error('no reply')];
    if (error) throw error;
    return { at, amount, reply: rateScript.reply(raw, given) };
  });
}

/** What is left of a rule of everybody together. */
export async function leftOf(gate: Pick<Gate, 'rate'>, rule: string): Promise<number | undefined> {
  const reply = await gate.rate({ asks: [{ rule, identity: '[]', amount: 0 }] });
  return reply.kind === 'passed' ? reply.rates[0]?.remaining : undefined;
}
