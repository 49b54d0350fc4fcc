import type { APIGatewayProxyEvent } from 'aws-lambda';

/** A proxy event of version 1 as the gateway makes it, with what a test cares for. */
export function proxyEvent(over: {
  body?: Buffer | string;
  headers?: Record<string, string>;
  pathParameters?: Record<string, string>;
  query?: Record<string, string>;
  sourceIp?: string;
  base64?: boolean;
}): APIGatewayProxyEvent {
  const body =
    over.body === undefined ? null : Buffer.from(over.body).toString(over.base64 === true ? 'base64' : 'utf8');
  return {
    resource: '/v1/{group}/{name}/tasks',
    path: '/v1/g/a/tasks',
    httpMethod: 'POST',
    headers: over.headers ?? {},
    multiValueHeaders: {},
    queryStringParameters: over.query ?? null,
    multiValueQueryStringParameters: null,
    pathParameters: over.pathParameters ?? null,
    stageVariables: null,
    requestContext: { requestId: 'r', identity: { sourceIp: over.sourceIp ?? '192.0.2.1' } } as never,
    body,
    isBase64Encoded: over.base64 === true,
  };
}
