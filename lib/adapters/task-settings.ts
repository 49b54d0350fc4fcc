import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { minute } from '../domain/time.ts';
import type { TaskSettings } from '../ports.ts';
import { keptSecret } from './kept-secret.ts';
import { bounded } from './outage.ts';

/** How long a secret that was read is taken for the current one. */
const keepMs = 5 * minute;

/** What task types read of the function's environment. A secret is `<name>`, or the text of the one in Secrets Manager that `<name>_SECRET_ARN` names. */
export function taskSettings(
  environment: Readonly<Record<string, string | undefined>>,
  client: SecretsManagerClient,
): TaskSettings {
  const known = new Map<string, () => Promise<string | undefined>>();
  const { secret } = bounded('secrets', {
    async secret(name: string): Promise<string | undefined> {
      const arn = environment[`${name}_SECRET_ARN`];
      if (environment[name] !== undefined || arn === undefined) return environment[name];
      const read = known.get(name) ?? keptSecret(client, arn, keepMs, (text) => text);
      known.set(name, read);
      return read();
    },
  });
  return { setting: (name) => environment[name], secret };
}
