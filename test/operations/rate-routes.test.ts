import { expect, test } from 'vitest';
import { admitRoute } from '../../lib/http/admit-route.ts';
import { changeLimitsRoute } from '../../lib/http/limits-route.ts';
import { openSystem, type System } from '../support/deps.ts';
import { proxyEvent } from '../support/event.ts';

async function patch({ deps }: System, body: unknown) {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const event = proxyEvent({ body: JSON.stringify(body), headers });
  return changeLimitsRoute(deps as never, event, 'merge');
}

function poster({ deps }: System) {
  const route = admitRoute(deps, 'http://localhost/api');
  return (n: number) =>
    route(
      proxyEvent({
        body: JSON.stringify({ input: { n } }),
        headers: { 'content-type': 'application/json' },
        pathParameters: { group: 'g', name: 'a' },
      }),
    );
}

test('an operator sets submit-ip to 20 a day: of forty posts twenty are taken, and the others read a problem of 429', async () => {
  const system = await openSystem({ pool: { running: 50, pending: 100 }, rates: { 'submit-ip': { identity: 'ip' } } });
  const numbers = { algorithm: 'fixed-window', limit: 20, periodMs: 86_400_000 };
  const set = await patch(system, { rates: { 'submit-ip': numbers } });
  expect(JSON.parse(set.body)).toMatchObject({ version: 1, limits: { rates: { 'submit-ip': numbers } } });
  const post = poster(system);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => post(n)));
  const taken = answers.filter(({ statusCode }) => statusCode === 202);
  const refused = answers.filter(({ statusCode }) => statusCode === 429);
  expect([taken.length, refused.length]).toEqual([20, 20]);
  const remaining = taken.map(({ body }) => JSON.parse(body).decision.rates[0].remaining as number);
  expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  const problem = JSON.parse(refused[0]?.body ?? '');
  expect(problem).toMatchObject({ code: 'rate_limited', rule: 'submit-ip', limit: 20, remaining: 0, limitsVersion: 1 });
  expect(refused[0]?.headers?.['Retry-After']).toBe(String(Math.ceil(problem.retryAfterMs / 1_000)));
  await patch(system, { rates: { 'submit-ip': null } });
  expect((await post(99)).statusCode).toBe(202);
});

test('a rule there is not is 422 by its path', async () => {
  const system = await openSystem({ rates: { 'submit-ip': { identity: 'ip' } } });
  await expect(patch(system, { rates: { 'submit-ipp': { limit: 1 } } })).rejects.toThrow(
    'rates.submit-ipp: expected one of submit-ip',
  );
});
