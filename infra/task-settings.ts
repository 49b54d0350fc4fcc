import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Weir } from '../lib/config.ts';
import { allow } from './allow.ts';

/** The variables that the task types of a pool read, as far as they are set, for the function that runs them; it may read the secrets they name. */
export function grantTaskSettings(
  fn: LambdaFunction,
  weir: Weir,
  pool: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const tasks = Object.values(weir.tasks).filter((task) => task.pool === pool);
  const arns = new Set(tasks.flatMap(({ secrets }) => secrets.map((name) => `${name}_SECRET_ARN`)));
  const names = new Set([...tasks.flatMap(({ settings, secrets }) => [...settings, ...secrets]), ...arns]);
  for (const name of names) {
    const value = environment[name];
    if (value === undefined) continue;
    fn.addEnvironment(name, value);
    if (arns.has(name)) allow(fn, ['secretsmanager:GetSecretValue'], [value]);
  }
}
