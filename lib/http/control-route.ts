import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { observe } from '../operations/observe.ts';
import type { RedriveDeps } from '../operations/redrive.ts';
import type { Queues, Signing } from '../ports.ts';
import { json } from './answer.ts';
import { cancelRoute } from './cancel-route.ts';
import { deadLettersRoute, readRedriveRoute, startRedriveRoute, stopRedriveRoute } from './dead-letters-route.ts';
import { hookSecretRoute } from './hook-secret-route.ts';
import type { Route } from './http-handler.ts';
import { changeLimitsRoute, readLimitsRoute } from './limits-route.ts';
import { pauseRoute } from './pause-route.ts';
import { ProblemError } from './problem.ts';
import { requireScope } from './scope.ts';
import { slotsRoute } from './slots-route.ts';
import { webhookSecretRoute } from './webhook-secret-route.ts';

export type ControlDeps = RedriveDeps & Signing & { readonly queues: Queues };

/** Cancel, the overview and the operator's routes; the gateway names the route by method and `resource`. */
export function controlRoute(deps: ControlDeps, baseUrl: string): Route {
  const routes: Readonly<Record<string, (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>>> = {
    'GET /health': async () => {
      await deps.gate.now();
      return json(200, { status: 'ok' });
    },
    'DELETE /v1/tasks/{id}': (event) => cancelRoute(deps, baseUrl, event),
    'GET /v1/queue/status': async () => json(200, await observe(deps)),
    'GET /v1/operator/limits': operator((event) => readLimitsRoute(deps, event)),
    'PATCH /v1/operator/limits': operator((event) => changeLimitsRoute(deps, event, 'merge')),
    'PUT /v1/operator/limits': operator((event) => changeLimitsRoute(deps, event, 'replace')),
    'GET /v1/operator/slots': operator((event) => slotsRoute(deps, event)),
    'GET /v1/operator/hook-secret': operator((event) => hookSecretRoute(deps, event)),
    'GET /v1/operator/webhook-secret': operator((event) => webhookSecretRoute(deps, event)),
    'POST /v1/operator/pools/{pool}/pause': operator((event) => pauseRoute(deps, event, 'pause')),
    'POST /v1/operator/pools/{pool}/resume': operator((event) => pauseRoute(deps, event, 'resume')),
    'GET /v1/operator/dead-letters': operator((event) => deadLettersRoute(deps, event)),
    'POST /v1/operator/dead-letters/redrive': operator((event) => startRedriveRoute(deps, event)),
    'GET /v1/operator/dead-letters/redrive': operator(() => readRedriveRoute(deps)),
    'DELETE /v1/operator/dead-letters/redrive': operator(() => stopRedriveRoute(deps)),
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
