import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/** A fault that one line explains. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

const stateFile = z.object({
  url: z.url(),
  redis: z.object({ port: z.int(), password: z.string() }),
});
const secretsFile = z.record(z.string(), z.object({ text: z.string() }));
const operatorSecret = z.object({ token: z.string().min(1) });

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the stack that runs on this machine answers, as its `stack.json` says; undefined where none runs. */
export function localStack(environment: Environment): z.output<typeof stateFile> | undefined {
  const state = readJson(join(dataDir(environment), 'stack.json'));
  return state === undefined ? undefined : stateFile.safeParse(state).data;
}

/** The operator's token that the local stack made and keeps; undefined where it keeps none. */
export function keptToken(environment: Environment, stage: string): string | undefined {
  const secrets = secretsFile.safeParse(readJson(join(dataDir(environment), 'secrets.json'))).data;
  const text = secrets?.[`weir-${stage}-operator`]?.text;
  return text === undefined ? undefined : operatorSecret.safeParse(JSON.parse(text)).data?.token;
}

export function dataDir(environment: Environment): string {
  return environment.WEIR_DATA ?? '.weir';
}

/** Runs a script to its exit code; what stands in its way is one line and the code 2. */
export async function runScript(main: () => Promise<number>): Promise<void> {
  process.stdout.on('error', () => process.exit());
  try {
    process.exitCode = await main();
  } catch (error) {
    const isKnown = error instanceof Error && knownFaults.has(error.name);
    process.stderr.write(`error: ${isKnown ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 2;
  }
}

const knownFaults = new Set(['ScriptError', 'ConfigError', 'Unavailable', 'ReplyError']);

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
