import type { APIGatewayProxyResult } from 'aws-lambda';
import type { Problem } from './problem.ts';

type Headers = Readonly<Record<string, string>>;

/** Answers are about one client's task at one moment: nothing between may keep them. */
const always: Headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

export function json(statusCode: number, body: unknown, headers: Headers = {}): APIGatewayProxyResult {
  return {
    statusCode,
    headers: { ...always, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

export function empty(statusCode: number, headers: Headers = {}): APIGatewayProxyResult {
  return { statusCode, headers: { ...always, ...headers }, body: '' };
}

export function problemAnswer({
  status,
  code,
  title,
  detail,
  type = 'about:blank',
  retryAfterMs,
  headers,
  members,
}: Problem): APIGatewayProxyResult {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return {
    statusCode: status,
    headers: {
      ...always,
      'Content-Type': 'application/problem+json',
      ...(retryAfterMs === undefined ? {} : { 'Retry-After': retryAfterSeconds(retryAfterMs) }),
      ...headers,
    },
    body: JSON.stringify({ type, title, status, code, detail, ...wait, ...members }),
  };
}

/** Whole seconds, never less than what is meant. */
export function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)));
}
