import { expect, test } from 'vitest';
import { ProblemError } from '../../lib/http/problem.ts';
import { requireScope } from '../../lib/http/scope.ts';
import { proxyEvent } from '../support/event.ts';

const withAuthorizer = (authorizer: object | undefined | null) => {
  const event = proxyEvent({});
  return { ...event, requestContext: { ...event.requestContext, authorizer } as never };
};

test.each(['operate', 'operate read', 'read operate'])('the scopes %j allow to operate', (scopes) => {
  expect(() => requireScope(withAuthorizer({ scopes }), 'operate')).not.toThrow();
});

test.each([
  ['no authorizer', undefined],
  ['an authorizer that is null', null],
  ['no scopes', {}],
  ['empty scopes', { scopes: '' }],
  ['another scope', { scopes: 'read' }],
  ['a scope that begins alike', { scopes: 'operated reoperate' }],
  ['scopes that are no text', { scopes: ['operate'] }],
])('%s is forbidden', (_, authorizer) => {
  const refused = () => requireScope(withAuthorizer(authorizer), 'operate');
  expect(refused).toThrow(ProblemError);
  expect(refused).toThrow('forbidden: Expected a credential with the scope operate.');
});
