import type { APIGatewayProxyEvent } from 'aws-lambda';
import type * as z from 'zod';
import { header } from './header.ts';
import { invalidInput, ProblemError } from './problem.ts';
import { bodyBytes } from './request.ts';
import { parseJson } from './submission.ts';

/** A JSON body of a shape; none is an empty object. Throws 415 for another type, 400 for no JSON, 422 with each fault by its path. */
export function readJsonBody<Schema extends z.ZodType>(event: APIGatewayProxyEvent, schema: Schema): z.output<Schema> {
  const bytes = bodyBytes(event);
  if (bytes.length > 0) requireJson(event);
  const parsed = schema.safeParse(bytes.length === 0 ? {} : parseJson(bytes, 'the body'));
  if (parsed.success) return parsed.data;
  throw invalidInput(parsed.error.issues.map(({ path, message }) => ({ path: path.join('.') || 'the body', message })));
}

/** Throws 415 for a body that is not said to be JSON. */
export function requireJson(event: APIGatewayProxyEvent): void {
  const type = (header(event, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json') return;
  const detail = `Expected application/json, got ${JSON.stringify(type.slice(0, 100))}.`;
  throw new ProblemError({ status: 415, code: 'unsupported_media_type', title: 'The body must be JSON', detail });
}
