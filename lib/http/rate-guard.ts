import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Weir } from '../config.ts';
import { rulesOn } from '../domain/rates.ts';
import { unreachable } from '../domain/unreachable.ts';
import { checkRates, type RateDeps } from '../operations/check-rates.ts';
import { Unavailable } from '../ports.ts';
import { problemAnswer } from './answer.ts';
import type { Route } from './http-handler.ts';
import { rateHeaders } from './rate-headers.ts';
import { rateLimited, tooCostly } from './rate-refusal.ts';
import { clientAddress, tenantOf } from './request.ts';

/**
 * Puts the rules that are configured `on` these routes before one of them that no capacity guards. Where there are none the route stays as it is.
 * While Redis does not answer, requests pass, unless a rule says otherwise.
 */
export function rateGuard(deps: RateDeps & { readonly weir: Weir }, on: 'reads' | 'hooks'): (route: Route) => Route {
  const rules = rulesOn(deps.weir.rates, on);
  if (rules.length === 0) return (route) => route;
  return (route) => async (event) => {
    const checked = await checkRates(deps, rules, askerOf(event), on);
    switch (checked.kind) {
      case 'passed': {
        const answer = await route(event);
        return { ...answer, headers: { ...answer.headers, ...rateHeaders(checked.rates) } };
      }
      case 'failed_open':
        return route(event);
      case 'rate_limited':
        return problemAnswer(rateLimited(checked));
      case 'too_costly':
        return problemAnswer(tooCostly(checked));
      case 'unavailable':
        throw new Unavailable('redis', 'a rate rule that refuses without an answer had none');
      default:
        return unreachable(checked);
    }
  };
}

function askerOf(event: APIGatewayProxyEvent) {
  const source = event.pathParameters?.source;
  return { tenant: tenantOf(event), ip: clientAddress(event), ...(source === undefined ? {} : { source }) };
}
