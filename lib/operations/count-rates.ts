import type { RateUse } from '../domain/rates.ts';
import type { Metrics } from '../ports.ts';

/**
 * Counts a decision of rate rules: for each rule (`scope`) that let the request through, or for the one that denied it, and once for the request as a whole,
 * which is what the alarm divides. Beside it stands how much of each rule is left. Nothing where no rule was asked.
 */
export function countRates(metrics: Metrics, endpoint: string, rates: readonly RateUse[], deniedBy?: string): void {
  if (rates.length === 0) return;
  const result = deniedBy === undefined ? 'allowed' : 'denied';
  // What one rule denies is charged to none of the others.
  const asked = deniedBy === undefined ? rates : rates.filter(({ rule }) => rule === deniedBy);
  for (const { rule: scope, remaining } of asked) {
    metrics.count('rate_limit_requests_total', 1, { scope, endpoint, result });
    metrics.count('rate_limit_remaining', Math.max(0, remaining), { scope, endpoint });
  }
  metrics.count('rate_limit_requests_total', 1, { result });
}

/** The same where Redis did not answer, and the rules let everybody through. */
export function countFailedOpen(metrics: Metrics, endpoint: string, rules: readonly string[]): void {
  const result = 'failed_open';
  for (const scope of rules) metrics.count('rate_limit_requests_total', 1, { scope, endpoint, result });
  metrics.count('rate_limit_requests_total', 1, { result });
}
