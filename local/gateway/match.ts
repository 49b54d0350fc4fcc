import type { Method, Route } from './api.ts';

export type Match = { route: Route; method: Method; pathParameters: Record<string, string> };

type Node = {
  literals: Map<string, Node>;
  variable?: { name: string; node: Node };
  greedy?: { name: string; route: Route };
  route?: Route;
};

export type Matcher = (methodName: string, path: string) => Match | undefined;

/**
 * Finds the route of a path such as `/things/1`: literal segments before variables, variables before `{proxy+}`. The
 * resource is chosen first and the method, or ANY, looked up in it: `POST /things/special` never reaches `/things/{id}`.
 */
export function createMatcher(routes: Route[]): Matcher {
  const root: Node = { literals: new Map() };
  for (const route of routes)
    insert(
      root,
      route.resourcePath.split('/').filter((part) => part !== ''),
      route,
    );
  return (name, path) => {
    const segments = path === '/' || path === '' ? [] : path.slice(1).split('/');
    const found = descend(root, segments, {});
    const method = found?.route.methods.get(name) ?? found?.route.methods.get('ANY');
    return found === undefined || method === undefined ? undefined : { ...found, method };
  };
}

function insert(node: Node, [part, ...rest]: string[], route: Route): void {
  if (part === undefined) {
    node.route = route;
    return;
  }
  const [, name, greedy] = /^\{([^}+]+)(\+?)\}$/.exec(part) ?? [];
  if (name !== undefined && greedy === '+') {
    node.greedy = { name, route };
    return;
  }
  const next: Node = (name === undefined ? node.literals.get(part) : node.variable?.node) ?? { literals: new Map() };
  if (name === undefined) node.literals.set(part, next);
  else node.variable = { name, node: next };
  insert(next, rest, route);
}

function descend(node: Node, segments: string[], given: Record<string, string>): Omit<Match, 'method'> | undefined {
  const [segment, ...rest] = segments;
  if (segment === undefined) return node.route === undefined ? undefined : { route: node.route, pathParameters: given };
  const literal = node.literals.get(decoded(segment));
  const byLiteral = literal === undefined ? undefined : descend(literal, rest, given);
  if (byLiteral !== undefined || segment === '') return byLiteral;
  const { variable, greedy } = node;
  const byVariable = variable && descend(variable.node, rest, { ...given, [variable.name]: decoded(segment) });
  if (byVariable !== undefined || greedy === undefined) return byVariable;
  return { route: greedy.route, pathParameters: { ...given, [greedy.name]: segments.map(decoded).join('/') } };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
