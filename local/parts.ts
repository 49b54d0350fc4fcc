import type { Assembly } from './assembly.ts';
import type { Cleanup } from './cleanup.ts';
import { createClients } from './clients.ts';
import type { DataFolder } from './data-folder.ts';
import { defineMappings } from './events/queue-mapping.ts';
import { pollQueue } from './events/queue-source.ts';
import { defineSchedules, runSchedule } from './events/schedule.ts';
import { defineFunctions } from './lambda/definition.ts';
import { createFunctions, type Functions } from './lambda/functions.ts';
import { startInvokeApi } from './lambda/invoke-api.ts';
import { createBuckets } from './resources/buckets.ts';
import { createQueues, type Queue } from './resources/queues.ts';
import { createTables } from './resources/tables.ts';
import type { Secrets } from './services/secrets.ts';
import { startSecretsServer } from './services/secrets-server.ts';
import type { Services } from './services.ts';
import type { StateFile } from './state-file.ts';
import type { StackScope } from './template/scope.ts';

/** What surrounds every part of a stack: where it keeps things, whom it tells, and how it is undone. */
export type Around = { data: DataFolder; state: StateFile; log: (line: string) => void; defer: Cleanup['defer'] };

/** Creates the template's tables, queues and buckets, or takes the kept ones. */
export async function createResources(
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

/** Makes the template's functions callable, and opens the Invoke API and Secrets Manager beside them. `ports` is what functions are told. */
export async function openFunctions(
  { template, identity, codeFolder }: Assembly,
  scope: StackScope,
  secrets: Secrets,
  ports: Record<keyof Services, number>,
  { data, state, log, defer }: Around,
): Promise<Functions> {
  const secretsServer = await startSecretsServer(secrets);
  defer(() => secretsServer.close());
  const local = (port: number) => `http://127.0.0.1:${port}`;
  const definitions = defineFunctions(template, scope, codeFolder, identity, {
    AWS_ENDPOINT_URL_DYNAMODB: local(ports.dynamodb),
    AWS_ENDPOINT_URL_SQS: local(ports.sqs),
    AWS_ENDPOINT_URL_S3: local(ports.s3),
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

/** Polls the template's event source mappings and fires its schedules. */
export function startEvents(
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
