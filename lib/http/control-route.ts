import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { Deps } from '../operations/deps.ts';
import { observe } from '../operations/observe.ts';
import type { DeadLetters } from '../ports.ts';
import { json } from './answer.ts';
import type { Route } from './http-handler.ts';
import { changeLimitsRoute, readLimitsRoute } from './limits-route.ts';
import { ProblemError } from './problem.ts';
import { requireScope } from './scope.ts';
import { slotsRoute } from './slots-route.ts';

export type ControlDeps = Pick<Deps, 'weir' | 'gate' | 'records' | 'clock' | 'log'> & {
  readonly deadLetters: DeadLetters;
};

/** The overview and the operator's routes; the gateway names the route by method and `resource`. */
export function controlRoute(deps: ControlDeps): Route {
  const routes: Readonly<Record<string, (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>>> = {
    'GET /health': async () => {
      await deps.gate.now();
      return json(200, { status: 'ok' });
    },
    'GET /v1/queue/status': async () => json(200, await observe(deps)),
    'GET /v1/operator/limits': operator((event) => readLimitsRoute(deps, event)),
    'PATCH /v1/operator/limits': operator((event) => changeLimitsRoute(deps, event, 'merge')),
    'PUT /v1/operator/limits': operator((event) => changeLimitsRoute(deps, event, 'replace')),
    'GET /v1/operator/slots': operator((event) => slotsRoute(deps, event)),
  };
  return async (event) => {
    const name = `${event.httpMethod} ${event.resource}`;
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (route !== undefined) return route(event);
    throw new ProblemError({
      status: 404,
      code: 'not_found',
      title: 'There is no such route',
      detail: `Expected one of ${Object.keys(routes).join(', ')}.`,
    });
  };
}

function operator(route: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>) {
  return async (event: APIGatewayProxyEvent) => {
    requireScope(event, 'operate');
    return route(event);
  };
}
