import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { cursorKey, hookSecret, webhookSecret } from '../domain/signing-keys.ts';
import { minute } from '../domain/time.ts';
import type { Signing } from '../ports.ts';
import { keptSecret } from './kept-secret.ts';
import { bounded } from './outage.ts';

/** How long a master secret that was read is taken for the current one. */
const keepMasterMs = 5 * minute;

/** Reads `password` of a JSON secret, once per process; asked again after a failure. */
export function secretPassword(client: SecretsManagerClient, arn: string): () => Promise<string> {
  return secretMember(client, arn, 'password', Number.POSITIVE_INFINITY);
}

/** The keys derived from `master` of a JSON secret. */
export function signingKeys(client: SecretsManagerClient, arn: string): Signing {
  const master = secretMember(client, arn, 'master', keepMasterMs);
  return bounded('secrets', {
    webhookSecret: async (tenant) => webhookSecret(await master(), tenant),
    hookSecret: async (source) => hookSecret(await master(), source),
    cursorKey: async () => cursorKey(await master()),
  });
}

function secretMember(
  client: SecretsManagerClient,
  arn: string,
  member: string,
  keepMs: number,
): () => Promise<string> {
  const secret = z.object({ [member]: z.string().min(1) });
  return keptSecret(client, arn, keepMs, (text) => secret.parse(JSON.parse(text ?? 'null'))[member] ?? '');
}
