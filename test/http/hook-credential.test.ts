import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { HookAuth } from '../../lib/hook-schema.ts';
import { problemAnswer } from '../../lib/http/answer.ts';
import { requireCredential } from '../../lib/http/hook-credential.ts';
import { hookSecretRoute } from '../../lib/http/hook-secret-route.ts';
import { ProblemError } from '../../lib/http/problem.ts';
import { proxyEvent } from '../support/event.ts';
import { hookEvent, secretOf } from '../support/hooks.ts';

const deps = { hookSecret: async (source: string) => secretOf(source) };
const secret = secretOf('h');
const body = '{"text":"grüße 🌊"}';
const sign = (text: string, key = secret) => createHmac('sha256', key).update(text).digest('hex');
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const send = (auth: HookAuth, headers: Record<string, string>, text = body) =>
  requireCredential(deps, { source: 'h', auth }, hookEvent('h', text, { headers }));

test('each source has a secret of its own, of 256 bits', () => {
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(secretOf('i')).not.toBe(secret);
});

test.each<[HookAuth, Record<string, string>]>([
  ['bearer', { Authorization: `Bearer ${secret}` }],
  ['bearer', { authorization: `bearer  ${secret} ` }],
  ['basic', { authorization: basic(`h:${secret}`) }],
  ['signature', { 'x-hub-signature-256': `sha256=${sign(body)}` }],
  ['signature', { 'X-Hub-Signature-256': `sha256=${sign(body).toUpperCase()}` }],
  ['none', {}],
])('%s lets %j through', async (auth, headers) => {
  await expect(send(auth, headers)).resolves.toBeUndefined();
});

describe('anything else is 401 and says what is expected', () => {
  test.each<[HookAuth, Record<string, string>]>([
    ['bearer', {}],
    ['bearer', { authorization: '' }],
    ['bearer', { authorization: secret }],
    ['bearer', { authorization: 'Bearer ' }],
    ['bearer', { authorization: `Bearer ${secretOf('i')}` }],
    ['bearer', { authorization: `Bearer ${secret}x` }],
    ['bearer', { authorization: basic(`h:${secret}`) }],
    ['basic', { authorization: `Bearer ${secret}` }],
    ['basic', { authorization: basic(`i:${secret}`) }],
    ['basic', { authorization: basic(secret) }],
    ['signature', { authorization: `Bearer ${secret}` }],
    ['signature', { 'x-hub-signature-256': sign(body) }],
    ['signature', { 'x-hub-signature-256': `sha256=${sign(`${body} `)}` }],
    ['signature', { 'x-hub-signature-256': `sha256=${sign(body, secretOf('i'))}` }],
    ['signature', { 'x-hub-signature-256': `sha256=${sign(body).slice(2)}` }],
  ])('%s: %j', async (auth, headers) => {
    const error: unknown = await send(auth, headers).catch((thrown: unknown) => thrown);
    if (!(error instanceof ProblemError)) throw new Error('expected a problem', { cause: error });
    const answer = problemAnswer(error.problem);
    expect([answer.statusCode, JSON.parse(answer.body).code]).toEqual([401, 'unauthorized']);
    const challenges = {
      bearer: 'Bearer',
      basic: 'Basic realm="weir", charset="UTF-8"',
      signature: 'X-Hub-Signature-256',
    };
    expect(answer.headers?.['WWW-Authenticate']).toBe(challenges[auth as keyof typeof challenges]);
    expect(answer.body).not.toContain(secret);
  });
});

test('the operator is told the secret of a hook, and of no other source', async () => {
  const weir = { hooks: { h: { source: 'h', auth: 'basic' } } } as never;
  const ask = (query: Record<string, string>) => hookSecretRoute({ ...deps, weir }, proxyEvent({ query }));
  const answer = await ask({ source: 'h' });
  expect(answer).toMatchObject({ statusCode: 200, headers: { 'Cache-Control': 'no-store' } });
  expect(JSON.parse(answer.body)).toEqual({ source: 'h', auth: 'basic', secret });
  for (const query of [{}, { source: 'i' }, { source: 'constructor' }])
    await expect(ask(query)).rejects.toMatchObject({ problem: { status: 404, code: 'unknown_hook' } });
});
