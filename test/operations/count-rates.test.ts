import { expect, test } from 'vitest';
import { countFailedOpen, countRates } from '../../lib/operations/count-rates.ts';

const use = (rule: string, remaining: number) => ({ rule, limit: 20, windowMs: 60_000, remaining, resetMs: 1 });

function counting() {
  const counted: string[] = [];
  const count = (name: string, value: number, dimensions: Readonly<Record<string, string>> = {}) =>
    void counted.push(`${name} ${value} ${Object.values(dimensions).join(' ')}`);
  return { metrics: { count }, counted };
}

test('a request that passes counts once for each rule and once as a whole, with what is left', () => {
  const { metrics, counted } = counting();
  countRates(metrics, 'g/a', [use('submit-ip', 3), use('submit-tenant', -2)]);
  expect(counted).toEqual([
    'rate_limit_requests_total 1 submit-ip g/a allowed',
    'rate_limit_remaining 3 submit-ip g/a',
    'rate_limit_requests_total 1 submit-tenant g/a allowed',
    'rate_limit_remaining 0 submit-tenant g/a',
    'rate_limit_requests_total 1 allowed',
  ]);
});

test('one that a rule denies counts for that rule alone', () => {
  const { metrics, counted } = counting();
  countRates(metrics, 'g/a', [use('submit-ip', 3), use('submit-tenant', 0)], 'submit-tenant');
  expect(counted).toEqual([
    'rate_limit_requests_total 1 submit-tenant g/a denied',
    'rate_limit_remaining 0 submit-tenant g/a',
    'rate_limit_requests_total 1 denied',
  ]);
});

test('without a rule nothing is counted; while Redis is away that is what is counted', () => {
  const { metrics, counted } = counting();
  countRates(metrics, 'g/a', []);
  expect(counted).toEqual([]);
  countFailedOpen(metrics, 'reads', ['reads-ip']);
  expect(counted).toEqual([
    'rate_limit_requests_total 1 reads-ip reads failed_open',
    'rate_limit_requests_total 1 failed_open',
  ]);
});
