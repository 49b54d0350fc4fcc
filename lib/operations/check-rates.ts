import type { RateReply } from '../domain/gate-replies.ts';
import { type Asker, asksOf, type RateRule } from '../domain/rates.ts';
import { Unavailable } from '../ports.ts';
import { countFailedOpen, countRates } from './count-rates.ts';
import type { Deps } from './deps.ts';
import type { RateBreaker } from './rate-breaker.ts';

export type RateDeps = Pick<Deps, 'gate' | 'clock' | 'log' | 'metrics'> & { readonly rateBreaker: RateBreaker };

/** `failed_open`: Redis did not answer in time, and every rule lets requests through then. `unavailable`: one of them does not. */
export type Checked = RateReply | { readonly kind: 'failed_open' | 'unavailable' };

/** A rule that does not answer by then is not waited for. */
export const rateDeadlineMs = 50;

/**
 * Lets a request of a route (`endpoint` in what is counted) through that rate rules guard alone, or says what stands in its way. It never waits long for
 * Redis: past the deadline, or at once while the breaker is open, each rule's own policy decides. Throws on anything but an outage: a bug is no reason to
 * let everybody through.
 */
export async function checkRates(
  deps: RateDeps,
  rules: readonly RateRule[],
  asker: Asker,
  endpoint: string,
): Promise<Checked> {
  const reply = await ask(deps, rules, asker);
  if (reply?.kind === 'passed') countRates(deps.metrics, endpoint, reply.rates);
  if (reply?.kind === 'rate_limited') countRates(deps.metrics, endpoint, reply.rates, reply.short);
  if (reply !== undefined) return reply;
  if (rules.some(({ whenUnavailable }) => whenUnavailable === 'refuse')) return { kind: 'unavailable' };
  const names = rules.map(({ name }) => name);
  for (const rule of names) deps.metrics.count('failed_open_total', 1, { rule });
  countFailedOpen(deps.metrics, endpoint, names);
  return { kind: 'failed_open' };
}

async function ask(deps: RateDeps, rules: readonly RateRule[], asker: Asker): Promise<RateReply | undefined> {
  const { rateBreaker: breaker } = deps;
  const asks = asksOf(rules, asker, {});
  if (!breaker.allows()) return undefined;
  try {
    // What is under way goes on to its own end: a connection that is being made serves the next request.
    const reply = await Promise.race([
      deps.gate.rate({ asks }),
      deps.clock.sleep(rateDeadlineMs).then(() => undefined),
    ]);
    if (reply === undefined) throw new Unavailable('redis', `no answer in ${rateDeadlineMs} ms`);
    breaker.answered();
    return reply;
  } catch (error) {
    if (!(error instanceof Unavailable)) {
      breaker.answered();
      throw error;
    }
    breaker.failed();
    deps.log.warn('rate rules had no answer', { rules: rules.map(({ name }) => name), reason: error.message });
    return undefined;
  }
}
