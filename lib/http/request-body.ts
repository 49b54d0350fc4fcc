import type { APIGatewayProxyEvent } from 'aws-lambda';
import type * as z from 'zod';
import { header } from './header.ts';
import { faultsOf, invalidInput, ProblemError } from './problem.ts';
import { bodyBytes } from './request.ts';
import { parseJson } from './submission.ts';

/** A JSON body of a shape; none is an empty object. Throws 415 for another type, 400 for no JSON, 422 with each fault by its path. */
export function readJsonBody<Schema extends z.ZodType>(event: APIGatewayProxyEvent, schema: Schema): z.output<Schema> {
  const bytes = bodyBytes(event);
  if (bytes.length > 0) requireJson(event);
  const parsed = schema.safeParse(bytes.length === 0 ? {} : parseJson(bytes, 'the body'));
  if (parsed.success) return parsed.data;
  throw invalidInput(faultsOf(parsed.error));
}

/** Throws 415 for a body that is not said to be JSON, or of another of the `types` that are. */
export function requireJson(event: APIGatewayProxyEvent, types: readonly string[] = ['application/json']): void {
  const type = (header(event, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (types.includes(type)) return;
  const detail = `Expected ${types.join(' or ')}, got ${JSON.stringify(type.slice(0, 100))}.`;
  throw new ProblemError({
    status: 415,
    code: 'unsupported_media_type',
    title: 'The body has the wrong media type',
    detail,
  });
}
