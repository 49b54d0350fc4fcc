import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { unreachable } from '../domain/unreachable.ts';
import type { Hook, HookAuth } from '../hook-schema.ts';
import type { Signing } from '../ports.ts';
import { header } from './header.ts';
import { hookBody } from './hook-event.ts';
import { ProblemError } from './problem.ts';

const signatureHeader = 'X-Hub-Signature-256';

type Demand = { readonly challenge: string; readonly expected: string };
const demands: Readonly<Record<Exclude<HookAuth, 'none'>, Demand>> = {
  bearer: { challenge: 'Bearer', expected: 'Authorization: Bearer <the secret of the hook>' },
  basic: {
    challenge: 'Basic realm="weir", charset="UTF-8"',
    expected: 'Authorization: Basic with the source as user name and the secret of the hook as password',
  },
  signature: {
    challenge: signatureHeader,
    expected: `${signatureHeader}: sha256=<hex of HMAC-SHA256 over the body, keyed with the secret of the hook>`,
  },
};

/** Lets a request through that shows what its hook wants to see; throws 401 for any other. How long it takes tells nothing of the secret. */
export async function requireCredential(
  { hookSecret }: Pick<Signing, 'hookSecret'>,
  { source, auth }: Pick<Hook, 'source' | 'auth'>,
  event: APIGatewayProxyEvent,
): Promise<void> {
  if (auth === 'none') return;
  const given = auth === 'signature' ? header(event, signatureHeader) : header(event, 'authorization');
  if (given !== undefined && matches(given.trim(), auth, source, await hookSecret(source), event)) return;
  const { challenge, expected } = demands[auth];
  throw new ProblemError({
    status: 401,
    code: 'unauthorized',
    title: 'The hook wants to know who sends',
    detail: `Expected ${expected}.`,
    headers: { 'WWW-Authenticate': challenge },
  });
}

function matches(
  given: string,
  auth: Exclude<HookAuth, 'none'>,
  source: string,
  secret: string,
  event: APIGatewayProxyEvent,
): boolean {
  switch (auth) {
    case 'bearer':
      return same(/^Bearer +(\S+)$/i.exec(given)?.[1], secret);
    case 'basic': {
      const credentials = /^Basic +(\S+)$/i.exec(given)?.[1];
      return same(credentials && Buffer.from(credentials, 'base64').toString(), `${source}:${secret}`);
    }
    case 'signature': {
      const signed = createHmac('sha256', secret).update(hookBody(event)).digest('hex');
      return same(/^sha256=([0-9a-f]{64})$/i.exec(given)?.[1]?.toLowerCase(), signed);
    }
    default:
      return unreachable(auth);
  }
}

/** Two digests have one length, whatever the texts' lengths are. */
function same(given: string | undefined, expected: string): boolean {
  return given !== undefined && timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
