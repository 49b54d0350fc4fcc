import { expect, test } from 'vitest';
import { rateHeaders } from '../../lib/http/rate-headers.ts';

const now = 1_800_000_000_000;
const ip = { rule: 'submit-ip', limit: 20, windowMs: 60_000, remaining: 3, resetMs: 40_001 };
const tenant = { rule: 'submit-tenant', limit: 1_000, windowMs: 3_600_000, remaining: 900, resetMs: 1 };

test('each rule is listed, and the tightest stands in the older headers', () => {
  expect(rateHeaders([tenant, ip], now)).toEqual({
    'RateLimit-Policy': '"submit-tenant";q=1000;w=3600, "submit-ip";q=20;w=60',
    RateLimit: '"submit-tenant";r=900;t=1, "submit-ip";r=3;t=41',
    'X-RateLimit-Limit': '20',
    'X-RateLimit-Remaining': '3',
    'X-RateLimit-Reset': '1800000041',
  });
});

test.each([
  ['no rule, no header', [], {}],
  ['a debt shows as nothing left', [{ ...ip, remaining: -5 }], { RateLimit: '"submit-ip";r=0;t=41' }],
  ['a quota of nothing is the tightest', [tenant, { ...ip, limit: 0, remaining: 0 }], { 'X-RateLimit-Limit': '0' }],
  ['part of a second is a whole one', [{ ...ip, windowMs: 50 }], { 'RateLimit-Policy': '"submit-ip";q=20;w=1' }],
])('%s', (_, rates, headers) => {
  expect(rateHeaders(rates, now)).toMatchObject(headers);
  if (rates.length === 0) expect(rateHeaders(rates, now)).toEqual({});
});
