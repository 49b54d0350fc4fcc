import { second } from '../../domain/time.ts';

const problems: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name has no address',
  EAI_AGAIN: 'its name cannot be looked up at the moment',
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'it closed the connection before an answer',
  EPIPE: 'it closed the connection before an answer',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
};

/** Why a post had no answer, in our words: a message may repeat what the receiver sent, its code does not. */
export function problemOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== 'string' || !/^[A-Z0-9_]{1,64}$/.test(code)) return 'no connection';
  const known = Object.hasOwn(problems, code) ? problems[code] : undefined;
  return known ?? (code.startsWith('HPE_') ? 'its answer is no HTTP' : `no connection (${code})`);
}

export function noAnswer(ms: number): string {
  return `no answer in ${ms / second} s`;
}
