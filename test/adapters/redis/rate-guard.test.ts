import { setTimeout as sleep } from 'node:timers/promises';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { expect, test } from 'vitest';
import { redisGate } from '../../../lib/adapters/redis/gate.ts';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import type { WeirConfig } from '../../../lib/config.ts';
import { day, hour } from '../../../lib/domain/time.ts';
import { rateGuard } from '../../../lib/http/rate-guard.ts';
import { admit } from '../../../lib/operations/admit.ts';
import { RateBreaker } from '../../../lib/operations/rate-breaker.ts';
import { Unavailable } from '../../../lib/ports.ts';
import { post } from '../../support/deps.ts';
import { proxyEvent } from '../../support/event.ts';
import { noLimits } from '../../support/gate.ts';
import { type OwnSystem, openOwnSystem, useOwnRedis } from '../../support/own-redis.ts';
import { ruleOf } from '../../support/rates.ts';

useOwnRedis();

const perDay = { algorithm: 'fixed-window', limit: 3, periodMs: day, calendar: true } as const;
const polls: NonNullable<WeirConfig['rates']> = { polls: { on: ['reads'], identity: 'ip', ...perDay } };

/**
 * A route behind the rules of reads, and how often it was reached. Connected already, because a connection that takes long lets the first request
 * through; a patient one waits for its answers a hundred times as long, however loaded the machine is.
 */
async function guarded(system: OwnSystem, patience = 100) {
  await expect.poll(() => system.deps.gate.now().catch(() => 0), { timeout: 10_000 }).toBeGreaterThan(0);
  const { clock } = system.deps;
  const patient = { ...clock, sleep: (ms: number) => clock.sleep(ms * patience) };
  const deps = { ...system.deps, clock: patient, rateBreaker: new RateBreaker() };
  let reached = 0;
  const route = rateGuard(
    deps,
    'reads',
  )(async () => {
    reached++;
    return { statusCode: 200, body: '' };
  });
  const ask = (sourceIp?: string): Promise<APIGatewayProxyResult> =>
    route(proxyEvent({ ...(sourceIp && { sourceIp }) }));
  return { ask, reached: () => reached };
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0;
}

test('lets through what the rule allows each client, and tells the others when to come back', async () => {
  const { ask, reached } = await guarded(await openOwnSystem({ rates: polls }));
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, ...Array(7).fill(429)]);
  const refused = answers.find(({ statusCode }) => statusCode === 429);
  expect(JSON.parse(refused?.body ?? '')).toMatchObject({
    code: 'rate_limited',
    rule: 'polls',
    limit: 3,
    remaining: 0,
    retryAfterMs: expect.any(Number),
  });
  expect(Number(refused?.headers?.['Retry-After'])).toBeGreaterThan(0);
  expect((await ask('192.0.2.7')).statusCode).toBe(200);
  expect(reached()).toBe(4);
});

test('a frozen Redis: every request passes, 99 of 100 within 100 ms, and each is counted; thawed, the rule counts again', async () => {
  const system = await openOwnSystem({ rates: polls });
  const { ask } = await guarded(system, 1);
  await ask();
  system.freeze();
  const times: number[] = [];
  const late: number[] = [];
  for (let n = 0; n < 300; n++) {
    const begun = performance.now();
    expect((await ask()).statusCode).toBe(200);
    const answered = performance.now();
    await sleep(10);
    times.push(answered - begun);
    late.push(performance.now() - answered - 10);
  }
  // The promise is 100 ms; by what its timers are late anyway, a loaded machine is later.
  expect(percentile(times, 0.99)).toBeLessThanOrEqual(100 + percentile(late, 0.99));
  // The breaker spares most the wait: three ask, and then one a second.
  expect(percentile(times, 0.9)).toBeLessThan(45);
  expect(system.counted.filter((line) => line === 'failed_open_total 1 polls')).toHaveLength(300);
  system.thaw();
  const codes = async () => [(await ask()).statusCode, (await ask()).statusCode, (await ask()).statusCode];
  // Each request that Redis answers is counted, so that the rule is used up before long.
  await expect.poll(codes, { timeout: 30_000, interval: 100 }).toContain(429);
}, 60_000);

test('a rule that must not let through without an answer does not', async () => {
  const system = await openOwnSystem({ rates: { polls: { ...polls.polls, whenUnavailable: 'refuse' } as never } });
  const { ask, reached } = await guarded(system);
  system.freeze();
  await expect(ask()).rejects.toThrow(Unavailable);
  expect(reached()).toBe(0);
});

test('on task routes capacity decides: with a frozen Redis a post is refused within two seconds, and no rule is charged for it', async () => {
  const system = await openOwnSystem({ rates: { r: { identity: 'ip', ...perDay } } });
  await admit(system.deps, post(system, { n: 0 }));
  system.freeze();
  const begun = performance.now();
  expect(await admit(system.deps, post(system, { n: 1 }))).toEqual({ kind: 'unavailable', reason: 'redis' });
  expect(performance.now() - begun).toBeLessThan(2_500);
  system.thaw();
  await expect.poll(() => system.deps.gate.now().catch(() => 0), { timeout: 10_000 }).toBeGreaterThan(0);
  expect(await admit(system.deps, post(system, { n: 1 }))).toMatchObject({ rates: [{ remaining: 1 }] });
});

test('a programming error is no outage: it is thrown, and lets nobody through', async () => {
  const system = await openOwnSystem({ rates: polls });
  const { connection, stage } = system;
  const { ask, reached } = await guarded(system);
  const key = cellKeys(stage).rate({ rule: 'polls', identity: '["192.0.2.1"]' });
  await connection.call('spoil', (client) => client.lpush(key, 'no string'));
  for (let n = 0; n < 5; n++) await expect(ask()).rejects.toThrow('WRONGTYPE');
  const { gate } = system.deps;
  const askOf = (amount: number) => gate.rate({ asks: [{ rule: 'polls', identity: '["x"]', amount }] });
  await expect(askOf(2 ** 31 - 1)).rejects.toThrow('BADARG amount');
  const keys = { ...cellKeys(stage), rate: cellKeys('another').rate };
  const torn = redisGate({ ...{ connection, keys, limits: noLimits, startWindowMs: hour }, rates: ruleOf(perDay) });
  await expect(torn.rate({ asks: [{ rule: 'r', identity: '[]', amount: 1 }] })).rejects.toThrow('CROSSSLOT');
  expect(reached()).toBe(0);
});
