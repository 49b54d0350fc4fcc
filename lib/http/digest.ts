import { createHash, timingSafeEqual } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { header } from './header.ts';
import { malformed } from './problem.ts';

/** Algorithms by their names in `Content-Digest` and `Digest`; others are allowed to be passed over. */
const algorithms: Readonly<Record<string, string>> = { 'sha-256': 'sha256', 'sha-512': 'sha512' };

/**
 * Holds the body against what its client says of it, where it does: `Content-MD5` (RFC 1864), `Content-Digest` (RFC 9530) and its elder `Digest` (RFC 3230),
 * each in base64. Throws 400 `digest_mismatch` for any that does not fit or cannot be read.
 */
export function checkDigests(event: APIGatewayProxyEvent, bytes: Buffer): void {
  const md5 = header(event, 'content-md5');
  if (md5 !== undefined) compare('Content-MD5', 'md5', md5.trim(), bytes);
  for (const [name, member] of [
    ['Content-Digest', /^([a-z0-9*_.-]+)=:([A-Za-z0-9+/=]*):$/i],
    ['Digest', /^([a-z0-9*_.-]+)=([A-Za-z0-9+/=]+)$/i],
  ] as const) {
    for (const part of membersOf(header(event, name))) {
      const [, algorithm = '', value] = member.exec(part) ?? [];
      if (value === undefined)
        throw mismatch(`Expected ${name} like sha-256=…, got ${JSON.stringify(part.slice(0, 100))}.`);
      const known = algorithms[algorithm.toLowerCase()];
      if (known !== undefined) compare(name, known, value, bytes);
    }
  }
}

function membersOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((part) => part.trim());
}

function compare(name: string, algorithm: string, given: string, bytes: Buffer): void {
  const found = createHash(algorithm).update(bytes).digest();
  const expected = Buffer.from(given, 'base64');
  if (expected.length === found.length && timingSafeEqual(expected, found)) return;
  throw mismatch(`The body's ${algorithm} is ${found.toString('base64')}, ${name} says otherwise.`);
}

function mismatch(detail: string) {
  return malformed('digest_mismatch', detail);
}
