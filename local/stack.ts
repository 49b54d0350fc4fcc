import { type Assembly, readAssembly } from './assembly.ts';
import { type Cleanup, createCleanup } from './cleanup.ts';
import { takeDataFolder } from './data-folder.ts';
import { readApis } from './gateway/api.ts';
import { createGateway, type Gateway } from './gateway/server.ts';
import { endLeftovers } from './leftovers.ts';
import { listenOnLoopback } from './listen.ts';
import { createResources, openFunctions, startEvents } from './parts.ts';
import { openSecrets, type Secrets } from './services/secrets.ts';
import { startCache, startS3, startStores } from './services.ts';
import { StackError } from './stack-error.ts';
import { createStateFile, type StackState, type StateFile } from './state-file.ts';
import { synthesize } from './synth.ts';
import type { Endpoints } from './template/endpoints.ts';
import { createScope, type StackScope } from './template/scope.ts';
import { resourcesOfType } from './template/template.ts';

export type StackOptions = {
  /** The folder with cdk.json. */
  projectDir: string;
  dataDir: string;
  /** 0 takes any free port. */
  port: number;
  /** Told each step, restart and crash, a line at a time. */
  log: (line: string) => void;
  /** Aborting it while the stack starts stops what has started and makes `startStack` reject with its reason. */
  signal?: AbortSignal;
  /** The port that functions are told for a service, asked once when it is up, so that something may stand between them. Default: its own. */
  portForFunctions?: (service: 'redis' | 'dynamodb' | 'sqs' | 's3', port: number) => number | Promise<number>;
};

export type Output = { description: string; value: string };

export type RunningStack = {
  /** Where the gateway listens; the first stage's path is `<url>/<stage>`. */
  url: string;
  /** What to tell the person who started it: the template's outputs and the secrets it asks to print. */
  outputs: Output[];
  state(): StackState;
  /** Stops everything. A second call waits for the first. */
  stop(): Promise<void>;
};

/** Synthesizes a project's stack and runs it on this machine. When it rejects, nothing is left running. */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const cleanup = createCleanup(options.log);
  const aborted = new Promise<never>((_, reject) => {
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
  });
  aborted.catch(() => {});
  try {
    options.signal?.throwIfAborted();
    return await Promise.race([start(options, cleanup), aborted]);
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

async function start(options: StackOptions, cleanup: Cleanup): Promise<RunningStack> {
  const { log, portForFunctions = (_, port) => port } = options;
  const data = takeDataFolder(options.dataDir);
  cleanup.defer(() => data.release());
  await endLeftovers(data.path, log);
  const state = createStateFile(data.path);
  cleanup.defer(() => state.remove());
  state.flush();

  const endpoints: Endpoints = {};
  const gateway = await openGateway(options, cleanup, state, endpoints);
  const around = { data, state, log, defer: cleanup.defer };
  const stores = startStores(around);
  // A store that cannot start ends the start at once, not after the synthesis.
  const storeFailed = new Promise<never>((_, reject) => {
    for (const store of Object.values(stores)) store.catch(reject);
  });

  storeFailed.catch(() => {});
  const synthesis = synthesize(options.projectDir, data.path, {
    defer: cleanup.defer,
    onBegin: () => log('synthesizing'),
  });
  const { outDir, fresh } = await Promise.race([synthesis, storeFailed]);
  log(fresh ? 'synthesized' : 'synthesis unchanged');
  const assembly = readAssembly(outDir);
  let secrets: Secrets | undefined;
  const scope = createScope(assembly.template, assembly.identity, endpoints, (reference) => {
    if (secrets === undefined) throw new StackError(`the secret ${reference} is used before there are secrets`);
    return secrets.resolve(reference);
  });
  secrets = openSecrets(assembly.template, scope, data.path, process.env);

  const cache = readCache(assembly, scope);
  if (cache !== undefined) {
    const { port } = await startCache(around, cache.password);
    endpoints.redis = await portForFunctions('redis', port);
    log(`redis on port ${port}`);
  }
  const dynamodb = await stores.dynamodb;
  log(`dynamodb on port ${dynamodb.port}`);
  const sqs = await stores.sqsS3;
  endpoints.sqs = await portForFunctions('sqs', sqs.port);
  log(`sqs on port ${sqs.port}`);

  const services = { dynamodb, sqs, s3: await startS3(sqs, around) };
  log(`s3 on port ${services.s3.port}`);
  const told = {
    dynamodb: await portForFunctions('dynamodb', dynamodb.port),
    sqs: endpoints.sqs,
    s3: await portForFunctions('s3', services.s3.port),
  };
  const { queues, clients } = await createResources(assembly, scope, services, data, around);
  const functions = await openFunctions(assembly, scope, secrets, told, around);
  gateway.setApis(readApis(assembly.template, scope, functions), assembly.identity);
  startEvents(assembly, scope, queues, functions, clients.sqs, around);
  const url = endpoints.http ?? '';
  log(`listening on ${url}`);
  state.flush();
  const outputs = [...readOutputs(assembly, scope), ...secrets.shown];
  return { url, outputs, state: state.current, stop: cleanup.run };
}

async function openGateway(
  options: StackOptions,
  cleanup: Cleanup,
  state: StateFile,
  endpoints: Endpoints,
): Promise<Gateway> {
  // First of all, because a port in use is the likeliest failure; what comes early is told that nothing is here yet.
  const gateway = createGateway(options.log);
  const listening = await listenOnLoopback(gateway.server, options.port);
  cleanup.defer(() => listening.close());
  const url = `http://127.0.0.1:${listening.port}`;
  endpoints.http = url;
  state.update((current) => {
    current.url = url;
  });
  return gateway;
}

function readCache({ template }: Assembly, scope: StackScope): { password: string | undefined } | undefined {
  const [cache, ...others] = resourcesOfType(template, 'AWS::ElastiCache::ReplicationGroup');
  if (others.length > 0) throw new StackError(`${others[0]?.logicalId}: only one ReplicationGroup is supported here`);
  if (cache === undefined) return undefined;
  const token = cache.resource.Properties?.AuthToken;
  return { password: token === undefined ? undefined : scope.resolveText(token) };
}

function readOutputs({ template }: Assembly, scope: StackScope): Output[] {
  return Object.entries(template.Outputs ?? {}).map(([name, output]) => ({
    description: output.Description ?? name,
    value: String(scope.resolve(output.Value)),
  }));
}
