import { admitRoute } from './admit-route.ts';
import { type HookDeps, hookRoute } from './hook-route.ts';
import type { Route } from './http-handler.ts';

/** Whatever asks for a task: a client's post, or a hook's event; the gateway names the route by `resource`. */
export function submitRoute(deps: HookDeps, baseUrl: string): Route {
  const [post, hook] = [admitRoute(deps, baseUrl), hookRoute(deps, baseUrl)];
  return (event) => (event.resource === '/v1/hooks/{source}' ? hook(event) : post(event));
}
