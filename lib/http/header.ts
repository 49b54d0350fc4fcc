import type { APIGatewayProxyEvent } from 'aws-lambda';

/** One header, whatever the case a client wrote it in. */
export function header(event: APIGatewayProxyEvent, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(event.headers ?? {}).find(([key]) => key.toLowerCase() === wanted)?.[1];
}
