import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** What `read` makes of a secret's text, kept for `keepMs` and then asked for again; after a failure, also one of `read`, at once. */
export function keptSecret<Value>(
  client: SecretsManagerClient,
  arn: string,
  keepMs: number,
  read: (text: string | undefined) => Value,
): () => Promise<Value> {
  let known: { readonly value: Promise<Value>; readonly readAt: number } | undefined;
  return () => {
    if (known !== undefined && performance.now() - known.readAt < keepMs) return known.value;
    const value = client
      .send(new GetSecretValueCommand({ SecretId: arn }))
      .then(({ SecretString }) => read(SecretString))
      .catch((error: unknown) => {
        known = undefined;
        throw error;
      });
    known = { value, readAt: performance.now() };
    return value;
  };
}
