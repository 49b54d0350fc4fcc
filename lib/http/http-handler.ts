import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { type Log, Unavailable } from '../ports.ts';
import { problemAnswer } from './answer.ts';
import { ProblemError, reducedCapacity } from './problem.ts';

export type Route = (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>;

/** The one stack of middleware every HTTP function has: errors become problem details, and what nobody expected is logged. */
export function httpHandler(log: Log, route: Route) {
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .use({
      onError: (request) => {
        request.response = answerError(log, request.error, request.event.requestContext.requestId);
      },
    })
    .handler(route);
}

function answerError(log: Log, error: unknown, requestId: string): APIGatewayProxyResult {
  if (error instanceof ProblemError) return problemAnswer(error.problem);
  if (error instanceof Unavailable) {
    log.warn('unavailable', { away: error.service, reason: error.message, requestId });
    return problemAnswer({
      status: 503,
      code: 'unavailable',
      type: reducedCapacity,
      title: 'Not available at the moment',
      detail: 'A store that is needed for the answer does not respond; try again.',
      retryAfterMs: 2_000,
    });
  }
  log.error('unexpected error', {
    reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    requestId,
  });
  return problemAnswer({
    status: 500,
    code: 'internal_error',
    title: 'Something went wrong here',
    detail: `The request failed in a way nobody expected; its id in the log is ${requestId}.`,
  });
}
