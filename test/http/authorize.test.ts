import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { expect, test } from 'vitest';
import { minute, second, toEpochMs } from '../../lib/domain/time.ts';
import { authorizeHandler } from '../../lib/http/authorize.ts';

const stage = 'arn:aws:execute-api:eu-west-1:123456789012:abc/api';
const request = (headers: Record<string, string>) =>
  ({ type: 'REQUEST', methodArn: `${stage}/PATCH/v1/operator/limits`, headers }) as APIGatewayRequestAuthorizerEvent;
const bearer = (token: string) => request({ Authorization: `Bearer ${token}` });

/** A secret that can be changed, and a clock that is moved by hand. */
function open() {
  const world = { token: 'right', reads: 0, now: toEpochMs(Date.UTC(2026, 0, 1)), down: false };
  const authorize = authorizeHandler({
    clock: { now: () => world.now },
    async readToken() {
      world.reads += 1;
      if (world.down) throw new Error('no answer');
      return world.token;
    },
  });
  const pass = (ms: number) => {
    world.now = toEpochMs(world.now + ms);
  };
  return { world, authorize, pass };
}

test('the token may call the whole stage, with scopes and subject as text', async () => {
  const { authorize } = open();
  expect(await authorize(bearer('right'))).toEqual({
    principalId: 'operator',
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: `${stage}/*` }],
    },
    context: { subject: 'operator', scopes: 'operate read' },
  });
});

test.each([
  ['a header in lower case', { authorization: 'Bearer right' }],
  ['a scheme in lower case', { Authorization: 'bearer right' }],
  ['more blanks', { Authorization: ' Bearer   right ' }],
])('takes %s', async (_, headers: Record<string, string>) => {
  expect((await open().authorize(request(headers))).principalId).toBe('operator');
});

test.each([
  ['no header', {}],
  ['no headers at all', null],
  ['another token', { Authorization: 'Bearer wrong' }],
  ['a longer token', { Authorization: 'Bearer right!' }],
  ['a part of the token', { Authorization: 'Bearer righ' }],
  ['another case', { Authorization: 'Bearer RIGHT' }],
  ['no token', { Authorization: 'Bearer ' }],
  ['no scheme', { Authorization: 'right' }],
  ['another scheme', { Authorization: 'Basic right' }],
])('%s is unauthorized, in the one word the gateway answers with 401', async (_, headers) => {
  await expect(open().authorize(request(headers as never))).rejects.toThrow(/^Unauthorized$/);
});

test('the token is read once in two minutes', async () => {
  const { world, authorize, pass } = open();
  await authorize(bearer('right'));
  pass(2 * minute - 1);
  await authorize(bearer('right'));
  expect(world.reads).toBe(1);
  pass(1);
  await authorize(bearer('right'));
  expect(world.reads).toBe(2);
});

test('a changed token counts at once, and the old one for two minutes at most', async () => {
  const { world, authorize, pass } = open();
  await authorize(bearer('right'));
  pass(30 * second);
  world.token = 'new';
  expect((await authorize(bearer('right'))).principalId).toBe('operator');
  expect((await authorize(bearer('new'))).principalId).toBe('operator');
  await expect(authorize(bearer('right'))).rejects.toThrow('Unauthorized');

  world.token = 'newer';
  pass(2 * minute);
  await expect(authorize(bearer('new'))).rejects.toThrow('Unauthorized');
});

test('those who guess cause one read in five seconds', async () => {
  const { world, authorize, pass } = open();
  for (let guess = 0; guess < 100; guess += 1) {
    await expect(authorize(bearer(`guess-${guess}`))).rejects.toThrow('Unauthorized');
    pass(100);
  }
  expect(world.reads).toBe(2);
});

test('a secret that cannot be read is no refusal, and is read again', async () => {
  const { world, authorize } = open();
  world.down = true;
  await expect(authorize(bearer('right'))).rejects.toThrow('no answer');
  world.down = false;
  expect((await authorize(bearer('right'))).principalId).toBe('operator');
});
