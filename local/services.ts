import { join } from 'node:path';
import { localCredentials } from './clients.ts';
import type { DataFolder } from './data-folder.ts';
import { startS3Guard } from './s3/guard.ts';
import { startDynamoDb } from './services/dynamodb.ts';
import { startRedis } from './services/redis.ts';
import type { Service, ServiceOptions } from './services/service.ts';
import { startSqsS3 } from './services/sqs-s3.ts';
import type { StateFile } from './state-file.ts';

export type Services = { dynamodb: Service; sqs: Service; s3: Service };

type Surroundings = {
  data: DataFolder;
  state: StateFile;
  log: (line: string) => void;
  defer: (undo: () => Promise<void>) => void;
};

/** Starts the services that need nothing from the template, side by side with its synthesis. */
export function startStores(around: Surroundings): { dynamodb: Promise<Service>; sqsS3: Promise<Service> } {
  const dynamodb = register(around, 'dynamodb', (options) => startDynamoDb(options));
  const sqsS3 = register(around, 'sqs', (options) => startSqsS3(options));
  return { dynamodb, sqsS3 };
}

export function startCache(around: Surroundings, password: string | undefined): Promise<Service> {
  const secret = password === undefined ? {} : { password };
  return register(around, 'redis', (options) => startRedis({ ...options, ...secret }), secret);
}

/** Where S3 answers: at a guard before the store, which alone is not as strict as S3. */
export async function startS3(
  sqsS3: Service,
  { state, defer }: Pick<Surroundings, 'state' | 'defer'>,
): Promise<Service> {
  const guard = await startS3Guard(sqsS3, localCredentials);
  defer(() => guard.close());
  state.update((current) => {
    current.s3 = { port: guard.port };
  });
  return {
    port: guard.port,
    get pid() {
      return sqsS3.pid;
    },
    stop: () => guard.close(),
  };
}

function register(
  { data, state, log, defer }: Surroundings,
  name: 'redis' | 'dynamodb' | 'sqs',
  start: (options: ServiceOptions) => Promise<Service>,
  secret: { password?: string } = {},
): Promise<Service> {
  const stopping = new AbortController();
  const starting = start({
    dataDir: data.folder(name === 'sqs' ? 'sqs-s3' : name),
    logFile: join(data.logs, `${name === 'sqs' ? 'sqs-s3' : name}.log`),
    log,
    signal: stopping.signal,
    onSpawn(spawned) {
      state.update((current) => {
        current[name] = { ...spawned, ...secret };
      });
      // At once: if this process is killed now, the next one must find what it left.
      state.flush();
    },
  });
  // Before it is up, so that a stop in the middle of its start leaves no process either.
  defer(async () => {
    stopping.abort();
    await starting.then(
      (started) => started.stop(),
      () => {},
    );
  });
  return starting;
}
