import type { RateUse } from '../domain/rates.ts';

/**
 * What a client reads of the rate rules it was counted by, after this request. `RateLimit-Policy` and `RateLimit` list each rule, as
 * draft-ietf-httpapi-ratelimit-headers-10 has them (`q` quota, `w` window, `r` remaining, `t` until all of it is there again, in seconds); `X-RateLimit-*` is
 * the rule with the least left, its reset as Unix time in seconds. None without a rule.
 *
 *     RateLimit-Policy: "submit-ip";q=20;w=60
 *     RateLimit: "submit-ip";r=3;t=41
 */
export function rateHeaders(rates: readonly RateUse[], nowMs = Date.now()): Record<string, string> {
  const [first, ...others] = rates;
  if (first === undefined) return {};
  const tightest = others.reduce((least, use) => (share(use) < share(least) ? use : least), first);
  return {
    'RateLimit-Policy': rates
      .map(({ rule, limit, windowMs }) => `"${rule}";q=${limit};w=${seconds(windowMs)}`)
      .join(', '),
    RateLimit: rates
      .map(({ rule, remaining, resetMs }) => `"${rule}";r=${left(remaining)};t=${seconds(resetMs)}`)
      .join(', '),
    'X-RateLimit-Limit': String(tightest.limit),
    'X-RateLimit-Remaining': String(left(tightest.remaining)),
    'X-RateLimit-Reset': String(Math.ceil((nowMs + tightest.resetMs) / 1_000)),
  };
}

function share({ remaining, limit }: RateUse): number {
  return limit === 0 ? 0 : remaining / limit;
}

/** A debt is nothing a client could use. */
function left(remaining: number): number {
  return Math.max(0, remaining);
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
