import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type RunningStack, startStack } from '../../local/stack.ts';
import { copyProject } from '../support/project-copy.ts';
import { configuration, stage } from './project.ts';
import type { Watch } from './proxy/call.ts';
import { Relays } from './proxy/relays.ts';

/** A stack of the project with a proxy between its functions and each service. */
export type Stand = {
  readonly stack: RunningStack;
  readonly relays: Relays;
  /** The copy of the project that runs. */
  readonly projectDir: string;
  /** Runs a function now; answers what it answered. */
  invoke(name: string, signal: AbortSignal): Promise<unknown>;
  /** Stops everything and removes its folder. */
  stop(): Promise<void>;
};

export type StandOptions = {
  /** The project's folder. */
  readonly source: string;
  readonly watch: Watch;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
  /** Leaves the stack's folder, with its data and logs, where it is. */
  readonly keep?: boolean;
};

/** Starts it in a temporary folder. When it rejects, nothing is left running and the folder is gone. */
export async function startStand({ source, watch, log, signal, keep = false }: StandOptions): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-chaos-'));
  const projectDir = join(folder, 'project');
  let stack: RunningStack | undefined;
  const relays = new Relays({
    watch,
    functions: () => (stack?.state().functions ?? []).map(({ name, pid }) => ({ pid, kind: kindOf(name) })),
    scripts: () => scriptsOf(projectDir),
  });
  const stop = async () => {
    await stack?.stop();
    await relays.close();
    if (keep) log(`kept ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  };
  try {
    copyProject(source, projectDir, configuration);
    stack = await startStack({
      projectDir,
      dataDir: join(folder, 'data'),
      port: 0,
      log,
      signal,
      // No point is in the talk with S3.
      portForFunctions: (service, port) => (service === 's3' ? port : relays.open(service, port)),
    });
    return { stack, relays, projectDir, invoke: invoker(stack), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** `weir-<stage>-<kind>`, for workers with their pool behind it. */
function kindOf(name: string): string {
  return name.slice(`weir-${stage}-`.length).split('-')[0] ?? name;
}

async function scriptsOf(projectDir: string): Promise<Record<string, string>> {
  const file = pathToFileURL(join(projectDir, 'lib/adapters/redis/sources.generated.ts')).href;
  const { sources } = (await import(file)) as typeof import('../../lib/adapters/redis/sources.generated.ts');
  return sources;
}

function invoker(stack: RunningStack): Stand['invoke'] {
  return async (name, signal) => {
    const functions = `http://127.0.0.1:${stack.state().lambda?.port}/2015-03-31/functions`;
    const url = `${functions}/weir-${stage}-${name}/invocations`;
    const answer = await fetch(url, { method: 'POST', body: '{}', signal });
    return answer.json();
  };
}
