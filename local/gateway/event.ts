import type { IncomingMessage } from 'node:http';
import type { StackIdentity } from '../template/scope.ts';
import type { Api } from './api.ts';
import type { AuthorizerContext } from './authorizer.ts';
import type { Match } from './match.ts';

/** What belongs to one request besides its body. `path` has no stage; `stagePath` has. */
export type RequestFacts = {
  requestId: string;
  extendedRequestId: string;
  receivedAt: Date;
  method: string;
  path: string;
  stagePath: string;
  query: string;
  sourceIp: string;
};

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'proxy-connection',
  'te',
  'trailer',
]);

/** One request and where it goes. */
export type Call = { request: IncomingMessage; facts: RequestFacts; api: Api; match: Match; identity: StackIdentity };

/** The event of a REQUEST authorizer: as the integration's, but without a body, and empty maps are `{}`. */
export type AuthorizerEvent = {
  type: 'REQUEST';
  methodArn: string;
  resource: string;
  path: string;
  httpMethod: string;
  headers: Record<string, string>;
  multiValueHeaders: Record<string, string[]>;
  queryStringParameters: Record<string, string>;
  multiValueQueryStringParameters: Record<string, string[]>;
  pathParameters: Record<string, string>;
  stageVariables: Record<string, string>;
  requestContext: ReturnType<typeof requestContext>;
};

/** The event of a proxy integration, version 1.0. */
export function buildEvent(call: Call, body: Buffer, authorizer?: AuthorizerContext): object {
  const { request, facts, api, match } = call;
  const headers = headerLists(request, facts);
  const query = queryLists(facts);
  const contentType = headerOf(headers, 'content-type');
  const isBinary = matchesMediaType(contentType ?? 'application/json', api.binaryMediaTypes);
  return {
    resource: match.route.resourcePath,
    path: facts.path,
    httpMethod: facts.method,
    headers: orNull(lastOf(headers)),
    multiValueHeaders: orNull(headers),
    queryStringParameters: orNull(lastOf(query)),
    multiValueQueryStringParameters: orNull(query),
    pathParameters: orNull(match.pathParameters),
    stageVariables: null,
    requestContext: { ...requestContext(call, headers), ...(authorizer === undefined ? {} : { authorizer }) },
    body: body.length === 0 ? null : body.toString(isBinary ? 'base64' : 'utf8'),
    isBase64Encoded: isBinary && body.length > 0,
  };
}

/** What the authorizer of a method is asked. */
export function buildAuthorizerEvent(call: Call): AuthorizerEvent {
  const { request, facts, api, match, identity } = call;
  const headers = headerLists(request, facts);
  const query = queryLists(facts);
  const invoked = `${api.id}/${api.stage}/${facts.method}${facts.path}`;
  return {
    type: 'REQUEST',
    methodArn: `arn:aws:execute-api:${identity.region}:${identity.accountId}:${invoked}`,
    resource: match.route.resourcePath,
    path: facts.path,
    httpMethod: facts.method,
    headers: lastOf(headers),
    multiValueHeaders: headers,
    queryStringParameters: lastOf(query),
    multiValueQueryStringParameters: query,
    pathParameters: match.pathParameters,
    stageVariables: {},
    requestContext: requestContext(call, headers),
  };
}

function requestContext({ facts, api, match, identity }: Call, headers: Record<string, string[]>) {
  return {
    resourceId: match.route.resourceId,
    resourcePath: match.route.resourcePath,
    httpMethod: facts.method,
    extendedRequestId: facts.extendedRequestId,
    requestTime: commonLogTime(facts.receivedAt),
    path: facts.stagePath,
    accountId: identity.accountId,
    protocol: 'HTTP/1.1',
    stage: api.stage,
    domainPrefix: api.id,
    requestTimeEpoch: facts.receivedAt.getTime(),
    requestId: facts.requestId,
    identity: {
      cognitoIdentityPoolId: null,
      accountId: null,
      cognitoIdentityId: null,
      caller: null,
      sourceIp: facts.sourceIp,
      principalOrgId: null,
      accessKey: null,
      cognitoAuthenticationType: null,
      cognitoAuthenticationProvider: null,
      userArn: null,
      userAgent: headerOf(headers, 'user-agent') ?? null,
      user: null,
    },
    domainName: headerOf(headers, 'host') ?? null,
    apiId: api.id,
  };
}

// Names in the client's own case; a name sent again, in whatever case, joins the first.
function headerLists(request: IncomingMessage, facts: RequestFacts): Record<string, string[]> {
  const lists: Record<string, string[]> = Object.create(null);
  const firstNames = new Map<string, string>();
  const add = (name: string, value: string) => {
    const key = name.toLowerCase();
    if (hopByHop.has(key)) return;
    const known = firstNames.get(key) ?? name;
    firstNames.set(key, known);
    lists[known] = [...(lists[known] ?? []), value];
  };
  const forwarded: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(index, index + 2);
    if (name.toLowerCase() === 'x-forwarded-for') forwarded.push(value);
    else add(name, value);
  }
  add('X-Forwarded-For', [...forwarded, facts.sourceIp].join(', '));
  if (!firstNames.has('x-forwarded-proto')) add('X-Forwarded-Proto', 'http');
  if (!firstNames.has('x-forwarded-port')) add('X-Forwarded-Port', String(request.socket.localPort));
  return lists;
}

function queryLists(facts: RequestFacts): Record<string, string[]> {
  const query = new URLSearchParams(facts.query);
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));
}

/** Whether a Content-Type or Accept value is one of an API's binary media types, which may have wildcards. */
export function matchesMediaType(value: string, mediaTypes: string[]): boolean {
  const wanted = (value.split(';')[0] ?? '').trim().toLowerCase();
  return mediaTypes.some((mediaType) => {
    const offered = mediaType.toLowerCase();
    if (offered === '*/*' || offered === wanted) return true;
    return offered.endsWith('/*') && wanted.startsWith(offered.slice(0, -1));
  });
}

function headerOf(lists: Record<string, string[]>, lowerName: string): string | undefined {
  return Object.entries(lists)
    .find(([name]) => name.toLowerCase() === lowerName)?.[1]
    .at(-1);
}

function lastOf(lists: Record<string, string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(lists).map(([name, values]) => [name, values.at(-1) ?? '']));
}

function orNull<T>(values: Record<string, T>): Record<string, T> | null {
  return Object.keys(values).length === 0 ? null : values;
}

// `29/Nov/2026:20:12:00 +0000`
function commonLogTime(at: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
