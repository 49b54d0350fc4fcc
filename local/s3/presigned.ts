import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Refusal } from './refusal.ts';

export type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string };
export type SentRequest = {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
};

const algorithm = 'AWS4-HMAC-SHA256';
const longestSeconds = 604_800;
const skewMs = 15 * 60_000;

/**
 * Checks a presigned URL (Signature Version 4 in the query:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html): signed with these credentials, for this method, path, query and these
 * headers, and not expired at `now`. A header `x-amz-…` that was sent but not signed is refused too. Undefined: all is well.
 */
export function checkPresigned(request: SentRequest, credentials: Credentials, now: number): Refusal | undefined {
  const { path, pairs } = readUrl(request.url);
  const given = Object.fromEntries(pairs);
  const [keyId, ...scope] = (given['X-Amz-Credential'] ?? '').split('/');
  const signedAt = parseDate(given['X-Amz-Date'] ?? '');
  const seconds = Number(given['X-Amz-Expires']);
  const signed = (given['X-Amz-SignedHeaders'] ?? '').split(';');
  const wellFormed =
    given['X-Amz-Algorithm'] === algorithm &&
    scope.length === 4 &&
    signedAt !== undefined &&
    /^\d{1,6}$/.test(given['X-Amz-Expires'] ?? '') &&
    seconds >= 1 &&
    seconds <= longestSeconds &&
    signed.includes('host');
  if (!wellFormed)
    return {
      status: 400,
      code: 'AuthorizationQueryParametersError',
      message: 'Query-string authentication is not well formed',
    };
  if (keyId !== credentials.accessKeyId) {
    return {
      status: 403,
      code: 'InvalidAccessKeyId',
      message: 'The AWS Access Key Id you provided does not exist in our records.',
    };
  }
  if (signedAt - skewMs > now) return denied('Request is not yet valid');
  if (signedAt + seconds * 1_000 <= now) return denied('Request has expired');
  const unsigned = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-') && !signed.includes(name));
  if (unsigned.length > 0) {
    return denied(`There were headers present in the request which were not signed: ${unsigned.join(', ')}`);
  }
  const canonical = [
    request.method,
    path,
    canonicalQuery(pairs),
    ...signed.map((name) => `${name}:${headerText(request.headers[name])}`),
    '',
    signed.join(';'),
    request.headers['x-amz-content-sha256'] ?? 'UNSIGNED-PAYLOAD',
  ].join('\n');
  const toSign = [algorithm, given['X-Amz-Date'], scope.join('/'), sha256(canonical)].join('\n');
  const expected = hmac(signingKey(credentials, scope), toSign).toString('hex');
  if (isSame(expected, given['X-Amz-Signature'] ?? '')) return undefined;
  const message = 'The request signature we calculated does not match the signature you provided.';
  return { status: 403, code: 'SignatureDoesNotMatch', message };
}

export function denied(message: string): Refusal {
  return { status: 403, code: 'AccessDenied', message };
}

function readUrl(url: string): { path: string; pairs: [string, string][] } {
  const at = url.indexOf('?');
  const path = at === -1 ? url : url.slice(0, at);
  const query = at === -1 ? '' : url.slice(at + 1);
  return { path, pairs: [...new URLSearchParams(query.replaceAll('+', '%2B'))] };
}

function canonicalQuery(pairs: readonly [string, string][]): string {
  return pairs
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join('&');
}

/** All but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function headerText(value: string | string[] | undefined): string {
  return [value ?? ''].flat().join(',').trim().replace(/ +/g, ' ');
}

function signingKey({ secretAccessKey }: Credentials, scope: readonly string[]): Buffer {
  return scope.reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secretAccessKey}`));
}

/** `20260131T120000Z` */
function parseDate(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  return year === undefined ? undefined : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function isSame(expected: string, given: string): boolean {
  return expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}
