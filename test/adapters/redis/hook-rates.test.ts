import type { APIGatewayProxyResult } from 'aws-lambda';
import { expect, test } from 'vitest';
import { checkConfig } from '../../../lib/config.ts';
import { addMs } from '../../../lib/domain/time.ts';
import { type HookDeps, hookRoute } from '../../../lib/http/hook-route.ts';
import { RateBreaker } from '../../../lib/operations/rate-breaker.ts';
import shipped from '../../../weir.config.ts';
import { laterThanServer, openGate, silent } from '../../support/gate.ts';
import { alertmanagerBody, hookEvent, secretOf } from '../../support/hooks.ts';

/** The shipped rules before two hooks whose events ask for nothing, at a moment that the test moves. */
async function openHooks() {
  const ignoring = { kind: 'alertmanager', api: 'examples/probe', input: () => undefined } as const;
  const weir = checkConfig({ ...shipped, hooks: { alerts: ignoring, others: ignoring } });
  let now = laterThanServer();
  const { gate } = await openGate(weir.limits, { rates: weir.rates, now: () => now });
  await gate.now();
  const deps = {
    ...{ weir, gate, log: silent, metrics: { count: () => undefined }, rateBreaker: new RateBreaker() },
    // However busy the machine is, a rule has time for its answer.
    clock: { now: () => now, sleep: () => new Promise(() => undefined) },
    hookSecret: async (source: string) => secretOf(source),
  } as unknown as HookDeps;
  const route = hookRoute(deps, '');
  const body = JSON.stringify(alertmanagerBody());
  return {
    send: (source: string, sourceIp: string) => route(hookEvent(source, body, { sourceIp })),
    pass(ms: number) {
      now = addMs(now, ms);
    },
  };
}

const told = ({ body }: APIGatewayProxyResult) =>
  JSON.parse(body) as { rule: string; limit: number; retryAfterMs: number };
const address = (n: number) => `192.0.${n >> 8}.${n & 255}`;

test('of one source 500 are let through in a minute, from wherever they come, and the 501st is not until the next', async () => {
  const { send, pass } = await openHooks();
  const all = await Promise.all(Array.from({ length: 500 }, (_, n) => send('alerts', address(n))));
  expect(new Set(all.map(({ statusCode }) => statusCode))).toEqual(new Set([204]));
  const refused = await send('alerts', address(500));
  expect(refused.statusCode).toBe(429);
  expect(told(refused)).toMatchObject({ code: 'rate_limited', rule: 'hooks-source', limit: 500, windowMs: 60_000 });
  expect((await send('others', address(501))).statusCode).toBe(204);
  const { retryAfterMs } = told(refused);
  expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  pass(retryAfterMs - 1);
  expect((await send('alerts', address(500))).statusCode).toBe(429);
  pass(1);
  const next = await Promise.all(Array.from({ length: 501 }, (_, n) => send('alerts', address(n))));
  expect(next.filter(({ statusCode }) => statusCode === 204)).toHaveLength(500);
});

test('of one address 50 are let through in a second, to whatever source, and the 51st is not until the next', async () => {
  const { send, pass } = await openHooks();
  const sources = ['alerts', 'others'] as const;
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => send(sources[n % 2] ?? '', address(1))));
  expect(new Set(all.map(({ statusCode }) => statusCode))).toEqual(new Set([204]));
  const refused = await send('alerts', address(1));
  expect(refused.statusCode).toBe(429);
  expect(refused.headers?.['Retry-After']).toBe('1');
  expect(told(refused)).toMatchObject({ code: 'rate_limited', rule: 'hooks-ip', limit: 50, windowMs: 1_000 });
  expect((await send('alerts', address(2))).statusCode).toBe(204);
  const { retryAfterMs } = told(refused);
  expect(retryAfterMs).toBeLessThanOrEqual(1_000);
  pass(retryAfterMs - 1);
  expect((await send('others', address(1))).statusCode).toBe(429);
  pass(1);
  const next = await Promise.all(Array.from({ length: 51 }, () => send('alerts', address(1))));
  expect(next.filter(({ statusCode }) => statusCode === 204)).toHaveLength(50);
});
