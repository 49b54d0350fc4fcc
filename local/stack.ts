import { type Assembly, readAssembly } from './assembly.ts';
import { type Cleanup, createCleanup } from './cleanup.ts';
import { createClients } from './clients.ts';
import { type DataFolder, takeDataFolder } from './data-folder.ts';
import { defineMappings } from './events/queue-mapping.ts';
import { pollQueue } from './events/queue-source.ts';
import { defineSchedules, runSchedule } from './events/schedule.ts';
import { readApis } from './gateway/api.ts';
import { createGateway, type Gateway } from './gateway/server.ts';
import { defineFunctions } from './lambda/definition.ts';
import { createFunctions, type Functions } from './lambda/functions.ts';
import { startInvokeApi } from './lambda/invoke-api.ts';
import { endLeftovers } from './leftovers.ts';
import { listenOnLoopback } from './listen.ts';
import { createBuckets } from './resources/buckets.ts';
import { createQueues, type Queue } from './resources/queues.ts';
import { createTables } from './resources/tables.ts';
import { openSecrets, type Secrets } from './services/secrets.ts';
import { startSecretsServer } from './services/secrets-server.ts';
import { type Services, s3Of, startCache, startStores } from './services.ts';
import { StackError } from './stack-error.ts';
import { createStateFile, type StackState, type StateFile } from './state-file.ts';
import { synthesize } from './synth.ts';
import { createScope, type Endpoints, type StackScope } from './template/scope.ts';
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
};

export type Output = { name: string; description: string | undefined; value: string };

export type RunningStack = {
  /** Where the gateway listens; the first stage's path is `<url>/<stage>`. */
  url: string;
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
  const { log } = options;
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
  // Awaited below; one that fails first must not be an unhandled rejection.
  for (const store of Object.values(stores)) store.catch(() => {});

  log('synthesizing');
  const { outDir, fresh } = await synthesize(options.projectDir, data.path, cleanup.defer);
  log(fresh ? 'synthesized' : 'unchanged since the last synthesis');
  const assembly = readAssembly(outDir);
  let secrets: Secrets | undefined;
  const scope = createScope(assembly.template, assembly.identity, endpoints, (reference) => {
    if (secrets === undefined) throw new StackError(`the secret ${reference} is used before there are secrets`);
    return secrets.resolve(reference);
  });
  secrets = openSecrets(assembly.template, scope, data.path);

  const redis = await startCache(around, cachePassword(assembly, scope));
  endpoints.redis = redis.port;
  log(`redis on port ${redis.port}`);
  const dynamodb = await stores.dynamodb;
  log(`dynamodb on port ${dynamodb.port}`);
  const sqs = await stores.sqsS3;
  endpoints.sqs = sqs.port;
  log(`sqs and s3 on port ${sqs.port}`);

  const services = { redis, dynamodb, sqs, s3: s3Of(sqs) };
  const { queues, clients } = await createResources(assembly, scope, services, data, around);
  const functions = await openFunctions(assembly, scope, secrets, services, around);
  gateway.setApis(readApis(assembly.template, scope, functions), assembly.identity);
  startEvents(assembly, scope, queues, functions, clients.sqs, around);
  const url = endpoints.http ?? '';
  log(`listening on ${url}`);
  state.flush();
  return { url, outputs: readOutputs(assembly, scope), state: state.current, stop: cleanup.run };
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

function cachePassword({ template }: Assembly, scope: StackScope): string | undefined {
  const [cache, ...others] = resourcesOfType(template, 'AWS::ElastiCache::ReplicationGroup');
  if (others.length > 0) throw new StackError(`${others[0]?.logicalId}: only one ReplicationGroup is supported here`);
  const token = cache?.resource.Properties?.AuthToken;
  return token === undefined ? undefined : scope.resolveText(token);
}

type Around = { data: DataFolder; state: StateFile; log: (line: string) => void; defer: Cleanup['defer'] };

async function createResources(
  assembly: Assembly,
  scope: StackScope,
  services: Services,
  data: DataFolder,
  around: Around,
) {
  const { template, identity } = assembly;
  const clients = createClients(identity.region, {
    dynamodb: services.dynamodb.port,
    sqs: services.sqs.port,
    s3: services.s3.port,
  });
  around.defer(() => clients.destroy());
  const [tables, queues, buckets] = await Promise.all([
    createTables(template, scope, clients.dynamodb, data.folder('dynamodb')),
    createQueues(template, scope, clients.sqs),
    createBuckets(template, scope, clients.s3),
  ]);
  around.log(`${tables.length} tables, ${queues.length} queues, ${buckets.length} buckets`);
  around.state.update((current) => {
    Object.assign(current, {
      tables,
      buckets,
      queues: Object.fromEntries(queues.map((queue) => [queue.logicalId, queue.url])),
    });
  });
  return { queues, clients };
}

async function openFunctions(
  { template, identity, codeFolder }: Assembly,
  scope: StackScope,
  secrets: Secrets,
  services: Services,
  { data, state, log, defer }: Around,
): Promise<Functions> {
  const secretsServer = await startSecretsServer(secrets);
  defer(() => secretsServer.close());
  const local = (port: number) => `http://127.0.0.1:${port}`;
  const definitions = defineFunctions(template, scope, codeFolder, identity, {
    AWS_ENDPOINT_URL_DYNAMODB: local(services.dynamodb.port),
    AWS_ENDPOINT_URL_SQS: local(services.sqs.port),
    AWS_ENDPOINT_URL_S3: local(services.s3.port),
    AWS_ENDPOINT_URL_SECRETS_MANAGER: local(secretsServer.port),
  });
  const functions: Functions = createFunctions(definitions, {
    logsFolder: data.logs,
    log,
    onChange: () =>
      state.update((current) => {
        current.functions = functions
          .all()
          .flatMap((pool) => pool.instances().map((instance) => ({ name: pool.definition.name, ...instance })));
      }),
  });
  defer(() => functions.stop());
  const invokeApi = await startInvokeApi(functions, log);
  defer(() => invokeApi.close());
  state.update((current) => {
    current.secrets = { port: secretsServer.port };
    current.lambda = { port: invokeApi.port };
  });
  log(`${definitions.length} functions`);
  return functions;
}

function startEvents(
  { template, identity }: Assembly,
  scope: StackScope,
  queues: Queue[],
  functions: Functions,
  sqs: Parameters<typeof pollQueue>[1],
  { log, defer }: Around,
): void {
  const mappings = defineMappings(template, scope, queues, functions);
  const schedules = defineSchedules(template, scope, functions, identity);
  const stopping = new AbortController();
  const polls = mappings.map((mapping) => pollQueue(mapping, sqs, identity.region, log, stopping.signal));
  const timers = schedules.map((schedule) => runSchedule(schedule, log));
  defer(async () => {
    stopping.abort();
    for (const timer of timers) timer.stop();
    // What runs now is killed, as a crash would: its messages come back after their visibility time-out.
    await functions.stop();
    await Promise.all(polls);
  });
}

function readOutputs({ template }: Assembly, scope: StackScope): Output[] {
  return Object.entries(template.Outputs ?? {}).map(([name, output]) => ({
    name,
    description: output.Description,
    value: String(scope.resolve(output.Value)),
  }));
}
