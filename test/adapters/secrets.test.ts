import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, onTestFinished, test } from 'vitest';
import { signingKeys } from '../../lib/adapters/secrets.ts';
import { cursorKey, hookSecret, webhookSecret } from '../../lib/domain/signing-keys.ts';
import { startSecretsServer } from '../../local/services/secrets-server.ts';
import { awsClient } from '../support/aws-client.ts';

/** The local stack's secrets, of which a test says what is found. */
async function openSigning(texts: (string | undefined)[]) {
  let reads = 0;
  const server = await startSecretsServer({
    find(arn) {
      const text = texts[Math.min(reads++, texts.length - 1)];
      return text === undefined ? undefined : { name: arn, arn, text, createdAt: Date.now() };
    },
    resolve: () => '',
    shown: [],
  });
  const client = new SecretsManagerClient({ ...awsClient(server.port), maxAttempts: 1 });
  onTestFinished(async () => {
    client.destroy();
    await server.close();
  });
  return { signing: signingKeys(client, 'arn:signing'), reads: () => reads };
}

test('derives every key from one secret, read once for many', async () => {
  const { signing, reads } = await openSigning(['{"master":"m"}']);
  const keys = await Promise.all([signing.webhookSecret('a'), signing.webhookSecret('b'), signing.cursorKey()]);
  expect(keys).toEqual([webhookSecret('m', 'a'), webhookSecret('m', 'b'), cursorKey('m')]);
  expect(await signing.hookSecret('a')).toBe(hookSecret('m', 'a'));
  await signing.webhookSecret('a');
  expect(reads()).toBe(1);
});

test.each([[undefined], ['{}'], ['{"master":""}']])(
  'a secret that is %s is an error, and read again the next time',
  async (text) => {
    const { signing, reads } = await openSigning([text, '{"master":"m"}']);
    await expect(signing.webhookSecret('a')).rejects.toThrow();
    expect(await signing.webhookSecret('a')).toBe(webhookSecret('m', 'a'));
    expect(reads()).toBe(2);
  },
);
