import { hkdfSync } from 'node:crypto';

const keyBytes = 32;

/** The secret that a tenant's webhooks are signed with, in the form of Standard Webhooks: `whsec_` and 32 bytes in base64. */
export function webhookSecret(master: string, tenant: string): string {
  return `whsec_${derive(master, `webhook|${tenant}`).toString('base64')}`;
}

/** The secret of an inbound hook, 32 bytes in base64url: a token, a password, or the key of a signature as these very characters. */
export function hookSecret(master: string, source: string): string {
  return derive(master, `hook|${source}`).toString('base64url');
}

/** The key that the cursors of lists are signed with. */
export function cursorKey(master: string): Buffer {
  return derive(master, 'cursor');
}

/** One master secret, a key for each purpose: none tells another, or the master. HKDF (RFC 5869) with SHA-256, without salt. */
function derive(master: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', purpose, keyBytes));
}
