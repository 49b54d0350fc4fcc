import { expect, test } from 'vitest';
import { bodyBytes, clientAddress, idempotencyKey } from '../../lib/http/request.ts';
import { proxyEvent } from '../support/event.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::9', '2001:db8:1:3::/64'],
  ['::1', '::/64'],
])('the address %s counts as %s', (sourceIp, expected) => {
  expect(clientAddress(proxyEvent({ sourceIp }))).toBe(expected);
});

test('forwarded headers do not count', () => {
  expect(clientAddress(proxyEvent({ headers: { 'X-Forwarded-For': '203.0.113.9' } }))).toBe('192.0.2.1');
});

test.each([
  ['abc', 'abc'],
  ['"abc"', 'abc'],
  [' abc ', 'abc'],
  ['x'.repeat(255), 'x'.repeat(255)],
])('Idempotency-Key %s is %s', (given, key) => {
  expect(idempotencyKey(proxyEvent({ headers: { 'idempotency-KEY': given } }))).toBe(key);
});

test.each(['', '""', 'a b', 'é', 'x'.repeat(256), 'a\tb'])('Idempotency-Key %j is refused', (given) => {
  expect(() => idempotencyKey(proxyEvent({ headers: { 'Idempotency-Key': given } }))).toThrow(
    'invalid_idempotency_key',
  );
});

test('body bytes follow the gateway’s word on their encoding', () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  expect(bodyBytes(proxyEvent({ body: bytes, base64: true, headers: { 'content-type': 'application/json' } }))).toEqual(
    bytes,
  );
  expect(bodyBytes(proxyEvent({ body: 'é' })).toString()).toBe('é');
});

test.each(['gzip', 'br', 'GZIP'])('a body in %s is refused', (encoding) => {
  expect(() => bodyBytes(proxyEvent({ body: 'x', headers: { 'Content-Encoding': encoding } }))).toThrow(
    'unsupported_encoding',
  );
});

test('a body over the ceiling is refused and told the ceiling', () => {
  expect(() => bodyBytes(proxyEvent({ body: 'x'.repeat(4_400_001) }))).toThrow('at most 4400000 bytes, got 4400001');
});
