import { ConfigError, type Weir } from '../lib/config.ts';
import { settings } from '../lib/settings.ts';

/** Longest name of a Lambda function. */
const maxFunctionName = 64;

/** The deployment's name, `main` unless `WEIR_STAGE` says otherwise; throws `ConfigError` for one that cannot be deployed. */
export function readStage(weir: Weir, environment: Readonly<Record<string, string | undefined>>): string {
  const stage = environment.WEIR_STAGE ?? 'main';
  const longest = Math.max(...Object.keys(weir.pools).map((pool) => functionName('', `work-${pool}`).length));
  const max = Math.min(32, maxFunctionName - longest);
  if (!settings.admit.shape.WEIR_STAGE.safeParse(stage).success || stage.length > max) {
    const got = JSON.stringify(stage);
    throw new ConfigError([`WEIR_STAGE: expected 1 to ${max} of a-z, 0-9 and -, got ${got}`]);
  }
  return stage;
}

/** The name a function has in the account. */
export function functionName(stage: string, id: string): string {
  return `weir-${stage}-${id}`;
}
