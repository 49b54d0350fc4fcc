import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { messageOf } from '../stack-error.ts';
import type { StackIdentity } from '../template/scope.ts';
import { readAnswer } from './answer.ts';
import type { Api } from './api.ts';
import type { AuthorizerContext } from './authorizer.ts';
import { readBody } from './body.ts';
import { buildAuthorizerEvent, buildEvent, type Call, type RequestFacts } from './event.ts';
import type { GatewayAnswer, ResponseType } from './gateway-response.ts';
import { invokeWithin } from './invoke-within.ts';
import { createMatcher, type Matcher } from './match.ts';

const maxBodyBytes = 10 * 1024 * 1024;
const maxEventBytes = 6_291_456;
const keepAliveMs = 65_000;
const lingerMs = 1_000;

type Served = { api: Api; match: Matcher; identity: StackIdentity };
export type Gateway = { server: Server; setApis(apis: Api[], identity: StackIdentity): void };

/** The REST APIs over HTTP, each under `/<stage name>`. It answers 503 until it is given the APIs. */
export function createGateway(log: (line: string) => void): Gateway {
  let served: Served[] = [];
  const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    response.on('error', () => {});
    handle(served, request, response, log).catch((error: unknown) => {
      log(`${request.method} ${request.url}: ${messageOf(error)}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  return {
    server,
    setApis(apis, identity) {
      served = apis.map((api) => ({ api, identity, match: createMatcher(api.routes) }));
    },
  };
}

async function handle(
  served: Served[],
  request: IncomingMessage,
  response: ServerResponse,
  log: (line: string) => void,
): Promise<void> {
  const [fullPath = '/', query = ''] = splitOnce(request.url ?? '/', '?');
  const stage = fullPath.split('/')[1] ?? '';
  const found = served.find(({ api }) => api.stage === stage);
  const anyApi = found ?? served[0];
  if (anyApi === undefined) {
    response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '1' }).end('{"message":"Starting"}');
    return;
  }
  const facts: RequestFacts = {
    requestId: randomUUID(),
    extendedRequestId: randomBytes(11).toString('base64url'),
    receivedAt: new Date(),
    method: request.method ?? 'GET',
    path: fullPath.slice(stage.length + 1) || '/',
    stagePath: fullPath,
    query,
    sourceIp: (request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
  };
  const refuse = (type: ResponseType) => {
    const answer = anyApi.api.responses(type, contextOf(facts, anyApi.api));
    if (type === 'REQUEST_TOO_LARGE') closeAfter(request, response);
    send(response, facts, answer);
  };
  const match = found?.match(facts.method, facts.path);
  if (found === undefined || match === undefined) return refuse('MISSING_AUTHENTICATION_TOKEN');

  const body = await readBody(request, maxBodyBytes);
  if (body.kind === 'gone') return;
  if (body.kind === 'too-large') return refuse('REQUEST_TOO_LARGE');
  const call: Call = { request, facts, api: found.api, match, identity: found.identity };
  const admitted = await authorize(call, log);
  if (admitted.kind === 'refused') return refuse(admitted.response);
  const { integration } = match.method;
  if (integration.kind === 'mock') {
    return send(response, facts, { status: integration.status, headers: integration.headers, body: Buffer.alloc(0) });
  }
  const event = JSON.stringify(buildEvent(call, body.bytes, admitted.context));
  if (Buffer.byteLength(event) > maxEventBytes) return refuse('REQUEST_TOO_LARGE');
  const outcome = await invokeWithin(integration.pool, event, integration.timeoutMs);
  switch (outcome.kind) {
    case 'timed-out':
      return refuse('INTEGRATION_TIMEOUT');
    case 'failed':
      return refuse('DEFAULT_5XX');
    case 'answered': {
      const answer = readAnswer(outcome.payload, request.headers.accept, found.api.binaryMediaTypes);
      if (answer.kind === 'answer') return send(response, facts, answer);
      log(`${integration.pool.definition.name} gave a malformed answer to ${facts.method} ${fullPath}: ${answer.why}`);
      return refuse('DEFAULT_5XX');
    }
  }
}

type Admitted = { kind: 'admitted'; context?: AuthorizerContext } | { kind: 'refused'; response: ResponseType };

async function authorize(call: Call, log: (line: string) => void): Promise<Admitted> {
  const { authorizer } = call.match.method;
  if (authorizer === undefined) return { kind: 'admitted' };
  const verdict = await authorizer(buildAuthorizerEvent(call));
  switch (verdict.kind) {
    case 'allowed':
      return { kind: 'admitted', context: verdict.context };
    case 'unauthorized':
      return { kind: 'refused', response: 'UNAUTHORIZED' };
    case 'denied':
      return { kind: 'refused', response: 'ACCESS_DENIED' };
    case 'misconfigured':
      log(`the authorizer of ${call.facts.method} ${call.facts.stagePath} failed: ${verdict.why}`);
      return { kind: 'refused', response: 'AUTHORIZER_CONFIGURATION_ERROR' };
  }
}

function send(response: ServerResponse, facts: RequestFacts, { status, headers, body }: GatewayAnswer): void {
  const lists = new Map<string, [string, string[]]>();
  for (const [name, value] of headers) {
    const known = lists.get(name.toLowerCase());
    if (known === undefined) lists.set(name.toLowerCase(), [name, [value]]);
    else known[1].push(value);
  }
  for (const [name, values] of lists.values())
    response.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
  response.setHeader('x-amzn-RequestId', facts.requestId);
  response.setHeader('x-amz-apigw-id', facts.extendedRequestId);
  if (facts.method !== 'HEAD' && status >= 200 && status !== 204 && status !== 304)
    response.setHeader('Content-Length', body.length);
  response.writeHead(status);
  response.end(body);
}

// The rest of the body is not wanted, so the connection is closed; but closing it at once, as `Connection: close` would,
// resets it under a client that still writes and takes the answer with it. The client gets a moment to read that.
function closeAfter(request: IncomingMessage, response: ServerResponse): void {
  response.once('finish', () => {
    request.resume();
    setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, lingerMs).unref();
  });
}

function contextOf(facts: RequestFacts, api: Api): Record<string, string> {
  return {
    requestId: facts.requestId,
    extendedRequestId: facts.extendedRequestId,
    httpMethod: facts.method,
    path: facts.stagePath,
    stage: api.stage,
    apiId: api.id,
    requestTimeEpoch: String(facts.receivedAt.getTime()),
    'identity.sourceIp': facts.sourceIp,
  };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
