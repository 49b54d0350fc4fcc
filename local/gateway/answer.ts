import { validateHeaderName, validateHeaderValue } from 'node:http';
import { messageOf } from '../stack-error.ts';
import { matchesMediaType } from './event.ts';
import type { GatewayAnswer } from './gateway-response.ts';

export type Answer = ({ kind: 'answer' } & GatewayAnswer) | { kind: 'malformed'; why: string };

// The gateway keeps these names for itself and passes the function's values on under another.
const remapped = new Set([
  'connection',
  'content-md5',
  'date',
  'host',
  'server',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'www-authenticate',
]);

/**
 * Reads what a function of a proxy integration returned. It must be an object with a numeric `statusCode`, text as
 * `body`, and headers of text, numbers or booleans; anything else is malformed and the client gets a 502.
 *
 * A base64 body is decoded only when the first type in the request's Accept header is one of the API's binary media
 * types, as the vendor's gateway does: with another Accept the client gets the base64 text.
 */
export function readAnswer(payloadJson: string, accept: string | undefined, binaryMediaTypes: string[]): Answer {
  const payload: unknown = JSON.parse(payloadJson);
  if (!isObject(payload)) return malformed('it is no object');
  const status = Number(payload.statusCode);
  if (payload.statusCode === null || !Number.isInteger(status) || status < 100 || status > 599)
    return malformed('statusCode');
  const body = payload.body ?? '';
  if (typeof body !== 'string') return malformed('body is not text');
  const headers = readHeaders(payload.headers, payload.multiValueHeaders);
  if (typeof headers === 'string') return malformed(headers);
  if (!headers.some(([name]) => name.toLowerCase() === 'content-type'))
    headers.push(['Content-Type', 'application/json']);
  const firstAccepted = (accept ?? '').split(',')[0] ?? '';
  const decodes = payload.isBase64Encoded === true && matchesMediaType(firstAccepted, binaryMediaTypes);
  return { kind: 'answer', status, headers, body: Buffer.from(body, decodes ? 'base64' : 'utf8') };
}

// A name in both maps has the values of multiValueHeaders only. Returns what is wrong as text.
function readHeaders(single: unknown, multi: unknown): [string, string][] | string {
  const found: [string, unknown][] = [];
  if (multi !== undefined && multi !== null) {
    if (!isObject(multi)) return 'multiValueHeaders is no object';
    for (const [name, values] of Object.entries(multi)) {
      if (!Array.isArray(values)) return `multiValueHeaders.${name} is no list`;
      for (const value of values) found.push([name, value]);
    }
  }
  const names = new Set(found.map(([name]) => name.toLowerCase()));
  if (single !== undefined && single !== null) {
    if (!isObject(single)) return 'headers is no object';
    for (const entry of Object.entries(single)) if (!names.has(entry[0].toLowerCase())) found.push(entry);
  }
  const headers: [string, string][] = [];
  for (const [name, value] of found) {
    if (name.toLowerCase() === 'content-length') continue;
    if (!['string', 'number', 'boolean'].includes(typeof value)) return `the header ${name} is no text`;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, String(value));
    } catch (error) {
      return messageOf(error);
    }
    headers.push([remapped.has(name.toLowerCase()) ? `x-amzn-Remapped-${name}` : name, String(value)]);
  }
  return headers;
}

function malformed(why: string): Answer {
  return { kind: 'malformed', why };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
