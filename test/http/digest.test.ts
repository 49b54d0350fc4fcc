import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { ProblemError } from '../../lib/http/problem.ts';
import { bodyBytes } from '../../lib/http/request.ts';
import { proxyEvent } from '../support/event.ts';

const body = Buffer.from('{"hello": "wörld"}');
const digest = (algorithm: string) => createHash(algorithm).update(body).digest('base64');

function read(headers: Record<string, string>): string {
  try {
    return bodyBytes(proxyEvent({ body, headers, base64: true })).equals(body) ? 'taken' : 'changed';
  } catch (error) {
    if (error instanceof ProblemError) return `${error.problem.status} ${error.problem.code}`;
    throw error;
  }
}

test.each<[Record<string, string>, string]>([
  [{ 'Content-MD5': digest('md5') }, 'taken'],
  [{ 'Content-Digest': `sha-256=:${digest('sha256')}:` }, 'taken'],
  [{ 'content-digest': `sha-512=:${digest('sha512')}:, SHA-256=:${digest('sha256')}:` }, 'taken'],
  [{ 'Content-Digest': 'crc32c=:AAAA:' }, 'taken'],
  [{ Digest: `SHA-256=${digest('sha256')}` }, 'taken'],
  [{ Digest: `md5=${digest('sha1')},sha-256=${digest('sha256')}` }, 'taken'],
  [{ 'Content-MD5': createHash('md5').update('x').digest('base64') }, '400 digest_mismatch'],
  [{ 'Content-MD5': 'no base64' }, '400 digest_mismatch'],
  [{ 'Content-MD5': digest('md5').slice(0, 8) }, '400 digest_mismatch'],
  [{ 'Content-Digest': `sha-256=:${createHash('sha256').update('x').digest('base64')}:` }, '400 digest_mismatch'],
  [{ 'Content-Digest': `sha-256=:${digest('sha256')}:, sha-512=:${digest('sha256')}:` }, '400 digest_mismatch'],
  [{ 'Content-Digest': `sha-256=${digest('sha256')}` }, '400 digest_mismatch'],
  [{ 'Content-Digest': '' }, '400 digest_mismatch'],
  [{ Digest: 'sha-256' }, '400 digest_mismatch'],
  [{ Digest: `sha-256=${digest('sha1')}` }, '400 digest_mismatch'],
  [{ 'Content-MD5': digest('md5'), Digest: 'sha-256=AAAA' }, '400 digest_mismatch'],
])('%j: %s', (headers, outcome) => {
  expect(read(headers)).toBe(outcome);
});
