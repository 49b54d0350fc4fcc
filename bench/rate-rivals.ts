import { createHash } from 'node:crypto';
import { Ratelimit } from '@upstash/ratelimit';
import type { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Cell } from '../lib/adapters/redis/cell.ts';
import { asksOf, type RatePart, type RateRule, requestsCost } from '../lib/domain/rates.ts';
import { hour } from '../lib/domain/time.ts';
import type { Gate } from '../lib/ports.ts';
import { byCallers, callers, expectKind } from './callers.ts';
import { anyTask, newCell } from './cell.ts';
import type { Case } from './rounds.ts';

/** Every rule and every rival: a fixed window that nothing fills. */
const limit = 1_000_000_000;
const api = 'documents/extract';
/** Clients that hold this many places, as the other tables have them: 10 tenants, 100 addresses. */
const places = 10_000;

type Who = { readonly tenant: string; readonly ip: string };
type Decide = (who: Who) => Promise<unknown>;

function fixedWindow(name: string, identity: readonly RatePart[]): RateRule {
  const numbers = { algorithm: 'fixed-window', limit, periodMs: hour } as const;
  return { name, on: ['reads'], identity, cost: requestsCost, whenUnavailable: 'admit', numbers };
}

export const oneRule = [fixedWindow('tenant', ['tenant'])];
export const fiveRules = [
  fixedWindow('everybody', []),
  fixedWindow('tenant', ['tenant']),
  fixedWindow('address', ['ip']),
  fixedWindow('api', ['api']),
  fixedWindow('tenant-api', ['tenant', 'api']),
];

export function rateCell(): Cell {
  return { ...newCell('rates'), rates: Object.fromEntries(fiveRules.map((rule) => [rule.name, rule])) };
}

export function anyone(): Who {
  const { tenant, tiers } = anyTask(places);
  return { tenant, ip: tiers.find(({ tier }) => tier === 'ip')?.name ?? '' };
}

/** So many callers who each decide by the same means. Budgets stay from round to round, as those of live clients do. */
export function decisions(name: string, count: number, decide: Decide, many = callers): Case {
  return {
    name,
    calls: count,
    command: 'evalsha',
    prepare: () => {
      const all = Array.from({ length: count }, anyone);
      return () => byCallers(all, decide, many);
    },
    restore: async () => undefined,
  };
}

/** `lua/rate.lua`: all rules in one call, all charged or none. */
export function byWeir(gate: Gate, rules: readonly RateRule[]): Decide {
  return async ({ tenant, ip }) => {
    expectKind(await gate.rate({ asks: asksOf(rules, { tenant, ip, api }, {}) }), 'passed');
  };
}

function flexible(client: Redis, name: string): RateLimiterRedis {
  const options = { points: limit, duration: hour / 1_000 };
  return new RateLimiterRedis({ storeClient: client, keyPrefix: `flexible:${name}`, ...options });
}

/** Rejects where it denies. */
export function byFlexible(client: Redis): Decide {
  const tenants = flexible(client, 'tenant');
  return ({ tenant }) => tenants.consume(tenant);
}

/** A limiter for each of the five, asked together or one after the other. What one denies stays charged with the others. */
export function byFiveFlexible(client: Redis, order: 'at once' | 'in turn'): Decide {
  const limiters = fiveRules.map(({ name }) => flexible(client, name));
  return async ({ tenant, ip }) => {
    const keys = ['*', tenant, ip, api, `${tenant}|${api}`];
    const consume = (each: RateLimiterRedis, index: number) => each.consume(keys[index] ?? '');
    if (order === 'at once') await Promise.all(limiters.map(consume));
    else for (const [index, each] of limiters.entries()) await consume(each, index);
  };
}

export function byUpstash(client: Redis): Decide {
  const limiter = Ratelimit.fixedWindow(limit, '1 h');
  const tenants = new Ratelimit({ redis: upstashClient(client), limiter, prefix: 'upstash:tenant' });
  return async ({ tenant }) => {
    const { success, reason } = await tenants.limit(tenant);
    if (!success || reason !== undefined) throw new Error(`expected a decision by Redis, got ${reason ?? 'a denial'}`);
  };
}

/**
 * What a fixed window asks of Upstash's client, over a socket instead of HTTP. Their scripts open with a flag that only their own server knows;
 * it is left out, so a script has another hash here than they ask for.
 */
function upstashClient(client: Redis): ConstructorParameters<typeof Ratelimit>[0]['redis'] {
  const hashes = new Map<string, string>();
  const evalsha = (sha1: string, keys: string[], args: (string | number)[]) => {
    const known = hashes.get(sha1);
    if (known === undefined) return Promise.reject(new Error('NOSCRIPT'));
    return client.evalsha(known, keys.length, ...keys, ...args);
  };
  const run = async (script: string, keys: string[], args: (string | number)[]) => {
    const sha1 = createHash('sha1').update(script).digest('hex');
    const ours = script.replace('#!lua flags=allow-key-locking', '#!lua');
    hashes.set(sha1, String(await client.script('LOAD', ours)));
    return evalsha(sha1, keys, args);
  };
  const needed: unknown = { evalsha, eval: run };
  return needed as ConstructorParameters<typeof Ratelimit>[0]['redis'];
}
