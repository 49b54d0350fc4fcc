import { expect, test } from 'vitest';
import { problemAnswer } from '../../lib/http/answer.ts';
import { rateLimited, tooCostly } from '../../lib/http/rate-refusal.ts';

test('who asks too fast reads which rule, what is left of it and when to come back', () => {
  const rates = [
    { rule: 'submit-tenant', limit: 500, windowMs: 60_000, remaining: 480, resetMs: 41_000 },
    { rule: 'submit-ip', limit: 20, windowMs: 60_000, remaining: 0, resetMs: 12_300 },
  ];
  const refused = { kind: 'rate_limited', short: 'submit-ip', retryAfterMs: 12_300, limitsVersion: 7, rates } as const;
  const { statusCode, headers, body } = problemAnswer(rateLimited(refused));
  expect([statusCode, headers?.['Retry-After'], headers?.['Content-Type']]).toEqual([
    429,
    '13',
    'application/problem+json',
  ]);
  expect(JSON.parse(body)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'You ask faster than a rate rule allows',
    status: 429,
    code: 'rate_limited',
    detail: 'Rule submit-ip lets 20 through in 60000 ms; 0 are left.',
    retryAfterMs: 12_300,
    ...{ rule: 'submit-ip', limit: 20, remaining: 0, windowMs: 60_000 },
    'violated-policies': ['submit-ip'],
    rates,
    limitsVersion: 7,
  });
});

test('what no waiting helps has no Retry-After', () => {
  const { statusCode, headers, body } = problemAnswer(tooCostly({ kind: 'too_costly', rule: 'tokens', limit: 2_000 }));
  expect([statusCode, headers?.['Retry-After']]).toEqual([422, undefined]);
  expect(JSON.parse(body)).toMatchObject({ code: 'never_admissible', rule: 'tokens', limit: 2_000 });
});
