import { createHmac, hkdfSync } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { cursorKey, webhookSecret } from '../../lib/domain/signing-keys.ts';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { addMs, toEpochMs } from '../../lib/domain/time.ts';
import { webhookOf } from '../../lib/domain/webhook.ts';

const master = 'm'.repeat(48);
const secret = webhookSecret(master, 'open');
const now = toEpochMs(Date.now());
const record = {
  tenant: 'open',
  id: '0198c0de-0000-7000-8000-000000000001',
  api: 'g/a',
  pool: 'p',
  status: 'succeeded',
  attempt: 1,
  result: '{"text":"grüße 🌊"}',
  inputDigest: 'd',
  files: [],
  dedupKey: 'D#open#f#x',
  fingerprint: 'sha256:f',
  reuseMs: 0,
  createdAt: now,
  finishedAt: addMs(now, 5),
  expiresAt: addMs(now, 1_000),
  callbackUrl: 'https://example.com/hook',
  delivery: { status: 'pending', attempts: 2 },
} as unknown as TaskRecord;
const baseUrl = 'https://weir.example/api';

test('a stored result is told by its URL, not by its bytes', () => {
  const resultFile = { key: 'results/x/1', size: 5, sha256: 'a', mediaType: 'application/pdf' };
  const stored = { ...record, result: undefined, resultFile };
  const { data } = JSON.parse(webhookOf(stored, { secret, baseUrl, at: now }).body.toString());
  expect(data.resultUrl).toBe(`${baseUrl}/v1/tasks/${record.id}/result`);
  expect(data).not.toHaveProperty('result');
  expect(JSON.stringify(data)).not.toContain('results/x/1');
});

describe('keys', () => {
  test('a tenant’s secret is HKDF-SHA256 of the master, 32 bytes in base64 after whsec_', () => {
    const key = Buffer.from(hkdfSync('sha256', master, '', 'webhook|open', 32)).toString('base64');
    expect(secret).toBe(`whsec_${key}`);
    expect(webhookSecret(master, 'open')).toBe(secret);
  });

  test('every tenant, master and purpose has its own', () => {
    const all = [
      secret,
      webhookSecret(master, 'other'),
      webhookSecret(`${master}x`, 'open'),
      `whsec_${cursorKey(master).toString('base64')}`,
    ];
    expect(new Set(all).size).toBe(4);
    expect(cursorKey(master)).toHaveLength(32);
  });
});

describe('a webhook', () => {
  const at = addMs(now, 1_500);
  const { headers, body } = webhookOf(record, { secret, baseUrl, at });

  test('tells type, moment of the end and the task as a read shows it, without the state of its own delivery', () => {
    const told = JSON.parse(body.toString());
    expect(told).toMatchObject({ type: 'task.succeeded', timestamp: new Date(now + 5).toISOString() });
    expect(told.data).toMatchObject({
      id: record.id,
      status: 'succeeded',
      result: { text: 'grüße 🌊' },
      statusUrl: `${baseUrl}/v1/tasks/${record.id}`,
      callbackUrl: 'https://example.com/hook',
    });
    expect(told.data).not.toHaveProperty('delivery');
  });

  test('is signed over the very bytes that are sent', () => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const signed = createHmac('sha256', key)
      .update(`${record.id}.${Math.floor(at / 1_000)}.`)
      .update(body);
    expect(headers['webhook-signature']).toBe(`v1,${signed.digest('base64')}`);
    expect(headers).toMatchObject({
      'webhook-id': record.id,
      'content-type': 'application/json',
      'user-agent': 'Weir',
    });
  });

  test('passes the library that receivers use, and a changed byte or another secret does not', () => {
    const library = new Webhook(secret);
    expect(library.verify(body, { ...headers })).toMatchObject({ type: 'task.succeeded' });
    expect(() => library.verify(`${body} `, { ...headers })).toThrow('No matching signature');
    const other = new Webhook(webhookSecret(master, 'other'));
    expect(() => other.verify(body, { ...headers })).toThrow('No matching signature');
  });

  test('of another try has the same id and the same body, and the moment of that try', () => {
    const again = { ...record, revision: 9, delivery: { status: 'pending', attempts: 3 } } as TaskRecord;
    const later = webhookOf(again, { secret, baseUrl, at: addMs(at, 60_000) });
    expect(later.body.equals(body)).toBe(true);
    expect(later.headers['webhook-id']).toBe(headers['webhook-id']);
    expect(Number(later.headers['webhook-timestamp'])).toBe(Number(headers['webhook-timestamp']) + 60);
  });

  test.each(['failed', 'cancelled', 'expired'] as const)('names the end: task.%s', (status) => {
    const ended = webhookOf({ ...record, status }, { secret, baseUrl, at });
    expect(JSON.parse(ended.body.toString())).toMatchObject({ type: `task.${status}`, data: { status } });
  });
});
