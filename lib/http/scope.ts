import type { APIGatewayProxyEvent } from 'aws-lambda';
import { ProblemError } from './problem.ts';

/** What a credential may be used for; the authorizer puts them into its context, blank-separated under `scopes`. */
export type Scope = 'read' | 'operate';

/** Throws a 403 problem unless the request's authorizer gave `scope`. A route without an authorizer gives none. */
export function requireScope({ requestContext }: Pick<APIGatewayProxyEvent, 'requestContext'>, scope: Scope): void {
  const scopes: unknown = requestContext.authorizer?.scopes;
  if (typeof scopes === 'string' && scopes.split(' ').includes(scope)) return;
  throw new ProblemError({
    status: 403,
    code: 'forbidden',
    title: 'The credential does not allow this',
    detail: `Expected a credential with the scope ${scope}.`,
  });
}

/** Who asks, by the authorizer's word: kept beside what they change. */
export function subjectOf({ requestContext }: Pick<APIGatewayProxyEvent, 'requestContext'>): string {
  return String(requestContext.authorizer?.subject ?? 'unknown');
}
