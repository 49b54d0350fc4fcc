import type { Deps } from '../operations/deps.ts';
import { observe } from '../operations/observe.ts';
import type { DeadLetters } from '../ports.ts';
import { json } from './answer.ts';
import type { Route } from './http-handler.ts';
import { ProblemError } from './problem.ts';

/** GET /v1/queue/status and GET /health; the gateway names the route in `resource`. */
export function controlRoute(deps: Pick<Deps, 'weir' | 'gate'> & { deadLetters: DeadLetters }): Route {
  const routes: Readonly<Record<string, () => Promise<unknown>>> = {
    '/v1/queue/status': () => observe(deps),
    '/health': async () => {
      await deps.gate.now();
      return { status: 'ok' };
    },
  };
  return async (event) => {
    const route = Object.hasOwn(routes, event.resource) ? routes[event.resource] : undefined;
    if (route !== undefined) return json(200, await route());
    throw new ProblemError({
      status: 404,
      code: 'not_found',
      title: 'There is no such route',
      detail: `Expected ${Object.keys(routes).join(' or ')}.`,
    });
  };
}
