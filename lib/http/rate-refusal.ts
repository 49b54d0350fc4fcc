import type { RateLimited, TooCostly } from '../domain/gate-replies.ts';
import { type Problem, quotaExceeded } from './problem.ts';
import { rateHeaders } from './rate-headers.ts';

/** What a client reads that a rate rule refuses: which, how much of it is left, and when the same request is let through. */
export function rateLimited({ short, rates, retryAfterMs, limitsVersion }: RateLimited): Problem {
  const use = rates.find(({ rule }) => rule === short);
  if (use === undefined) throw new Error(`expected rule ${short} among ${rates.length}`);
  const { rule, limit, windowMs, remaining } = use;
  return {
    status: 429,
    code: 'rate_limited',
    type: quotaExceeded,
    title: 'You ask faster than a rate rule allows',
    detail: `Rule ${rule} lets ${limit} through in ${windowMs} ms; ${remaining} are left.`,
    retryAfterMs,
    headers: rateHeaders(rates),
    members: { rule, limit, remaining, windowMs, 'violated-policies': [rule], rates, limitsVersion },
  };
}

export function tooCostly({ rule, limit }: TooCostly): Problem {
  return {
    status: 422,
    code: 'never_admissible',
    title: 'No limit could ever hold this request',
    detail: `It costs more than rate rule ${rule} ever lets through at once, which is ${limit}.`,
    members: { rule, limit },
  };
}
