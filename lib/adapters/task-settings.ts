import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { minute } from '../domain/time.ts';
import type { TaskSettings } from '../ports.ts';
import { bounded } from './outage.ts';

/** How long a secret that was read is taken for the current one. */
const keepMs = 5 * minute;

/** What task types read of the function's environment. A secret is `<name>`, or the text of the one in Secrets Manager that `<name>_SECRET_ARN` names. */
export function taskSettings(
  environment: Readonly<Record<string, string | undefined>>,
  client: SecretsManagerClient,
): TaskSettings {
  const known = new Map<string, { readonly text: string; readonly until: number }>();
  const { secret } = bounded('secrets', {
    async secret(name: string): Promise<string | undefined> {
      const SecretId = environment[`${name}_SECRET_ARN`];
      if (environment[name] !== undefined || SecretId === undefined) return environment[name];
      const kept = known.get(name);
      if (kept !== undefined && performance.now() < kept.until) return kept.text;
      const { SecretString: text } = await client.send(new GetSecretValueCommand({ SecretId }));
      if (text !== undefined) known.set(name, { text, until: performance.now() + keepMs });
      return text;
    },
  });
  return { setting: (name) => environment[name], secret };
}
