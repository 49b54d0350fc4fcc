import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';

const secret = z.object({ password: z.string().min(1) });

/** Reads `password` of a JSON secret, once per process; asked again after a failure. */
export function secretPassword(client: SecretsManagerClient, arn: string): () => Promise<string> {
  let known: Promise<string> | undefined;
  return () => {
    known ??= client
      .send(new GetSecretValueCommand({ SecretId: arn }))
      .then(({ SecretString }) => secret.parse(JSON.parse(SecretString ?? 'null')).password)
      .catch((error: unknown) => {
        known = undefined;
        throw error;
      });
    return known;
  };
}
