import { expect, test } from 'vitest';
import { type AuthorizerDefinition, createAuthorizer } from '../../local/gateway/authorizer.ts';
import type { AuthorizerEvent } from '../../local/gateway/event.ts';

const arn = 'arn:aws:execute-api:us-east-1:000000000000:abc/live/GET/a';
const event = (over: Partial<AuthorizerEvent> = {}) =>
  ({
    methodArn: arn,
    headers: { Authorization: 'one' },
    queryStringParameters: {},
    requestContext: { stage: 'live' },
    ...over,
  }) as AuthorizerEvent;

const allow = (context?: object) => ({
  principalId: 'p',
  policyDocument: { Statement: [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' }] },
  context,
});

// An authorizer on a clock of its own, whose function answers as told and counts its calls.
function open(answer: unknown, over: Partial<AuthorizerDefinition> = {}) {
  const world = { now: 0, calls: 0, answer };
  const pool: AuthorizerDefinition['pool'] = {
    async invoke() {
      world.calls += 1;
      const { answer: given } = world;
      if (given instanceof Error)
        return { kind: 'failed', payload: JSON.stringify({ errorType: given.name, errorMessage: given.message }) };
      return { kind: 'answered', payload: JSON.stringify(given) };
    },
  };
  const identitySources: AuthorizerDefinition['identitySources'] = [{ in: 'header', name: 'authorization' }];
  const authorize = createAuthorizer({ pool, identitySources, ttlMs: 60_000, ...over }, () => world.now);
  return { world, authorize };
}

test.each([
  ['absent', {}],
  ['empty', { Authorization: '' }],
])('an identity source that is %s is unauthorized without a call', async (_, headers: Record<string, string>) => {
  const { world, authorize } = open(allow());
  expect(await authorize(event({ headers }))).toEqual({ kind: 'unauthorized' });
  expect(world.calls).toBe(0);
});

test('every identity source must be there', async () => {
  const { authorize } = open(allow(), {
    identitySources: [
      { in: 'header', name: 'Authorization' },
      { in: 'querystring', name: 'key' },
    ],
  });
  expect(await authorize(event())).toEqual({ kind: 'unauthorized' });
  expect(await authorize(event({ queryStringParameters: { key: 'k' } }))).toMatchObject({ kind: 'allowed' });
});

test('the function’s context reaches the integration as text', async () => {
  const { authorize } = open(allow({ text: 'a', number: 1.5, truth: false }));
  expect(await authorize(event())).toEqual({
    kind: 'allowed',
    context: { principalId: 'p', integrationLatency: 0, text: 'a', number: '1.5', truth: 'false' },
  });
});

test.each([
  ['no object', null],
  ['no policy', { principalId: 'p' }],
  ['no principal', { ...allow(), principalId: undefined }],
  ['a list in its context', allow({ scopes: ['read'] })],
  ['another error', new TypeError('Unauthorized: no')],
])('%s is a fault of the authorizer, and is not kept', async (_, answer) => {
  const { world, authorize } = open(answer);
  expect((await authorize(event())).kind).toBe('misconfigured');
  world.answer = allow();
  expect((await authorize(event())).kind).toBe('allowed');
});

test('an answer is kept for its time, by stage and credential; a refusal by error is not', async () => {
  const { world, authorize } = open(new Error('Unauthorized'));
  expect(await authorize(event())).toEqual({ kind: 'unauthorized' });
  world.answer = allow();
  expect((await authorize(event())).kind).toBe('allowed');
  world.answer = new Error('Unauthorized');
  world.now = 59_999;
  expect((await authorize(event())).kind).toBe('allowed');
  expect((await authorize(event({ headers: { Authorization: 'two' } }))).kind).toBe('unauthorized');
  expect((await authorize(event({ requestContext: { stage: 'other' } as never }))).kind).toBe('unauthorized');
  expect(world.calls).toBe(4);
  world.now = 60_000;
  expect((await authorize(event())).kind).toBe('unauthorized');
});

test('a kept policy is judged for each method', async () => {
  const policyDocument = { Statement: { Effect: 'Allow', Action: 'execute-api:Invoke', Resource: arn } };
  const { world, authorize } = open({ principalId: 'p', policyDocument });
  expect((await authorize(event())).kind).toBe('allowed');
  expect(await authorize(event({ methodArn: arn.replace('GET', 'PUT') }))).toEqual({ kind: 'denied' });
  expect(world.calls).toBe(1);
});

test('without a time nothing is kept', async () => {
  const { world, authorize } = open(allow(), { ttlMs: 0 });
  await authorize(event());
  await authorize(event());
  expect(world.calls).toBe(2);
});

test('what is kept stays within a bound', async () => {
  const { world, authorize } = open(allow());
  for (let user = 0; user < 1_001; user += 1) await authorize(event({ headers: { authorization: String(user) } }));
  await authorize(event({ headers: { authorization: '1000' } }));
  expect(world.calls).toBe(1_001);
  await authorize(event({ headers: { authorization: '0' } }));
  expect(world.calls).toBe(1_002);
});
