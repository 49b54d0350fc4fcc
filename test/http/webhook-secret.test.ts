import { expect, test } from 'vitest';
import { ProblemError } from '../../lib/http/problem.ts';
import { webhookSecretRoute } from '../../lib/http/webhook-secret-route.ts';
import { proxyEvent } from '../support/event.ts';

const deps = { webhookSecret: async (tenant: string) => `whsec_of_${tenant}` };

test('tells the secret of the tenant that is asked for, for nobody to keep', async () => {
  const answer = await webhookSecretRoute(deps, proxyEvent({ query: { tenant: 'open' } }));
  expect(answer).toMatchObject({ statusCode: 200, headers: { 'Cache-Control': 'no-store' } });
  expect(JSON.parse(answer.body)).toEqual({ tenant: 'open', secret: 'whsec_of_open' });
});

test.each([[undefined], [{ tenant: '' }], [{ tenant: 'a'.repeat(257) }]])('asked with %j it is 400', async (query) => {
  const asked = webhookSecretRoute(deps, proxyEvent(query === undefined ? {} : { query }));
  await expect(asked).rejects.toMatchObject({ problem: { status: 400, code: 'invalid_tenant' } });
  await expect(asked).rejects.toThrow(ProblemError);
});
