import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Listening, listenOnLoopback, readAll } from '../listen.ts';
import { messageOf } from '../stack-error.ts';
import type { Functions } from './functions.ts';

const maxPayloadBytes = 6_291_456;
const route = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(?:\?|$)/;

/** Lambda's Invoke API on a port of its own, so that a test or a person can run a function now, on a schedule or not. */
export async function startInvokeApi(functions: Functions, log: (line: string) => void): Promise<Listening> {
  const server = createServer((request, response) => {
    invoke(functions, request, response, log).catch((error: unknown) => {
      if (!response.headersSent) answer(response, 400, { Type: 'User', Message: messageOf(error) });
    });
  });
  // An invocation may take its function's 15 minutes.
  server.requestTimeout = 0;
  return listenOnLoopback(server, 0);
}

async function invoke(
  functions: Functions,
  request: IncomingMessage,
  response: ServerResponse,
  log: (line: string) => void,
): Promise<void> {
  const name = request.method === 'POST' ? route.exec(request.url ?? '')?.[1] : undefined;
  const pool = name === undefined ? undefined : functions.find(decodeURIComponent(name));
  if (pool === undefined)
    return answer(response, 404, { Type: 'User', Message: `Function not found: ${name ?? request.url}` });
  const body = (await readAll(request, maxPayloadBytes)).toString('utf8') || '{}';
  JSON.parse(body);
  switch (request.headers['x-amz-invocation-type'] ?? 'RequestResponse') {
    case 'Event':
      // Lambda would try twice more, minutes later; here a failure is a line.
      void pool.invoke(body).then((outcome) => {
        if (outcome.kind === 'failed') log(`${pool.definition.name} failed: ${outcome.payload.slice(0, 300)}`);
      });
      response.writeHead(202).end();
      return;
    case 'DryRun':
      response.writeHead(204).end();
      return;
    default: {
      const outcome = await pool.invoke(body);
      const failed = outcome.kind === 'failed' ? { 'X-Amz-Function-Error': 'Unhandled' } : {};
      response.writeHead(200, { 'Content-Type': 'application/json', 'X-Amz-Executed-Version': '$LATEST', ...failed });
      response.end(outcome.payload);
    }
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'X-Amzn-ErrorType': 'ResourceNotFoundException' });
  response.end(JSON.stringify(body));
}
