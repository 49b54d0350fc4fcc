import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { v7 as uuid7 } from 'uuid';
import * as z from 'zod';
import { dynamoRecords } from './adapters/dynamo/records.ts';
import { dynamoUploads } from './adapters/dynamo/uploads.ts';
import { emfMetrics } from './adapters/metrics.ts';
import { awsClientTimes, awsTransferTimes } from './adapters/outage.ts';
import { RedisConnection } from './adapters/redis/connection.ts';
import { redisGate } from './adapters/redis/gate.ts';
import { cellKeys } from './adapters/redis/keys.ts';
import { s3Files } from './adapters/s3/files.ts';
import { openLinks } from './adapters/s3/links.ts';
import { secretPassword, signingKeys } from './adapters/secrets.ts';
import { sqsMessages, sqsQueues } from './adapters/sqs/messages.ts';
import { taskSettings } from './adapters/task-settings.ts';
import { httpWebhooks } from './adapters/webhook/webhooks.ts';
import { checkConfig, type Weir, type WeirConfig } from './config.ts';
import { deliveryQueue } from './domain/delivery-schedule.ts';
import { toTaskId } from './domain/task-id.ts';
import { toEpochMs } from './domain/time.ts';
import type { RateDeps } from './operations/check-rates.ts';
import type { DeliverDeps } from './operations/deliver.ts';
import type { AdmitDeps, Deps } from './operations/deps.ts';
import type { EndDeps } from './operations/end.ts';
import { Outlook } from './operations/outlook.ts';
import { RateBreaker } from './operations/rate-breaker.ts';
import type { RedriveDeps } from './operations/redrive.ts';
import type { UploadDeps } from './operations/upload.ts';
import type { WatchDeps } from './operations/watch.ts';
import type {
  Clock,
  Files,
  Gate,
  Links,
  Log,
  Messages,
  Metrics,
  Queues,
  Records,
  Signing,
  TaskSettings,
  Uploads,
} from './ports.ts';
import { type FunctionName, readSettings, type Settings } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Wired<Name extends FunctionName> = {
  readonly settings: Settings<Name>;
  readonly weir: Weir;
  readonly log: Log;
  readonly metrics: Metrics;
};

const clock: Clock = { now: () => toEpochMs(Date.now()), sleep: (ms) => sleep(ms) };

/** Settings, configuration and log of one function, read once at cold start; throws with what is missing or wrong. */
export function wire<Name extends FunctionName>(name: Name, config: WeirConfig, environment: Environment): Wired<Name> {
  return {
    settings: readSettings(name, environment),
    weir: checkConfig(config, environment),
    log: logger(name),
    metrics: emfMetrics(name),
  };
}

/** What deciding posts needs, and the events of hooks. */
export function wireAdmit(wired: Wired<'admit'>): AdmitDeps & RateDeps & Signing {
  const { settings } = wired;
  const hooks = { rateBreaker: new RateBreaker(), ...wireSigning(settings) };
  return { ...wireDeps(wired), uploads: wireUploads(settings), ...hooks };
}

/** What uploads, and downloads of results, need: no Redis. */
export function wireUpload({
  settings,
  weir,
}: Wired<'upload'>): UploadDeps & Pick<Deps, 'records'> & { readonly links: Links } {
  return {
    weir,
    clock,
    newNonce: () => randomUUID(),
    records: wireRecords(settings),
    uploads: wireUploads(settings),
    files: s3Files(new S3Client(awsClientTimes), settings.WEIR_BUCKET),
    links: openLinks(settings.WEIR_BUCKET),
  };
}

/** Everything the operations need, for a function that has all variables. */
export function wireDeps(wired: Wired<'admit'> | Wired<'work'>): Deps {
  const { settings } = wired;
  return {
    ...wireStores(wired),
    ...wireProcess(wired),
    messages: wireMessages(settings),
    files: wireFiles(settings),
  };
}

/** What the thread beside a worker's handlers needs. Its `exit` ends the whole process: `process.exit` would end the thread alone. */
export function wireHeart(wired: Wired<'work'>): WatchDeps {
  return {
    ...wireStores(wired),
    messages: wireMessages(wired.settings),
    metrics: wired.metrics,
    exit: () => process.kill(process.pid, 'SIGKILL'),
  };
}

/** What reconcile needs: it touches no file and wakes nobody. */
export function wireReconcile(wired: Wired<'reconcile'>): Omit<Deps, 'files'> {
  return { ...wireStores(wired), ...wireProcess(wired), messages: wireMessages(wired.settings) };
}

/** What taking given-up messages needs. */
export function wireBury(wired: Wired<'bury'>): EndDeps {
  return { ...wireStores(wired), messages: wireMessages(wired.settings), metrics: wired.metrics };
}

type Stores = Pick<Deps, 'weir' | 'log' | 'clock' | 'gate' | 'outlook' | 'records'>;

/** What telling callbacks needs: no Redis, and of the queues its own. */
export function wireDeliver({ settings, weir, log, metrics }: Wired<'deliver'>): DeliverDeps & {
  readonly messages: Messages;
  readonly log: Log;
} {
  return {
    weir,
    log,
    metrics,
    clock,
    records: wireRecords(settings),
    messages: sqsMessages(new SQSClient(awsClientTimes), { [deliveryQueue]: settings.WEIR_DELIVER_QUEUE_URL }),
    webhooks: httpWebhooks(weir.callbacks),
    ...wireSigning(settings),
    baseUrl: settings.WEIR_BASE_URL,
  };
}

/** What reading and listing tasks needs: the records, what a queued one waits on, and the key of cursors. */
export function wireStatus(wired: Wired<'status'>): Stores & Signing & RateDeps {
  const rates = { metrics: wired.metrics, rateBreaker: new RateBreaker() };
  return { ...wireStores(wired), ...rates, ...wireSigning(wired.settings) };
}

/** What cancel, the overview and the operator's routes need. */
export function wireControl(wired: Wired<'control'>): ControlStores {
  const { WEIR_QUEUE_URLS, WEIR_DEAD_QUEUE_URLS } = wired.settings;
  return {
    ...wireStores(wired),
    ...wireProcess(wired),
    ...wireSigning(wired.settings),
    messages: wireMessages(wired.settings),
    queues: sqsQueues(new SQSClient(awsClientTimes), WEIR_QUEUE_URLS, WEIR_DEAD_QUEUE_URLS),
  };
}
type ControlStores = Stores & Signing & Omit<RedriveDeps, keyof Stores> & { readonly queues: Queues };

type WithStores = 'admit' | 'work' | 'reconcile' | 'status' | 'control' | 'bury';

function wireStores({ settings, weir, log }: Pick<Wired<WithStores>, 'settings' | 'weir' | 'log'>): Stores {
  const gate = wireGate(settings, weir, log);
  return { weir, log, clock, gate, outlook: new Outlook({ gate, clock }), records: wireRecords(settings) };
}

const operatorSecret = z.object({ token: z.string().min(1) });

/** What checking the operator's token needs. It reads no configuration: this function starts in the way of every operator. */
export function wireAuthorize(environment: Environment): { clock: Clock; readToken(): Promise<string> } {
  const { WEIR_OPERATOR_SECRET_ARN: SecretId } = readSettings('authorize', environment);
  const client = new SecretsManagerClient(awsClientTimes);
  return {
    clock,
    async readToken() {
      const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId }));
      return operatorSecret.parse(JSON.parse(SecretString ?? 'null')).token;
    },
  };
}

function wireProcess({ metrics }: { metrics: Metrics }): Pick<Deps, 'newId' | 'newNonce' | 'exit' | 'metrics'> {
  return {
    metrics,
    newId: () => toTaskId(uuid7()),
    newNonce: () => randomUUID(),
    exit(because) {
      console.error(because);
      process.exit(1);
    },
  };
}

function wireGate(
  settings: { WEIR_STAGE: string; WEIR_REDIS_URL: string; WEIR_REDIS_SECRET_ARN: string },
  weir: Weir,
  log: Log,
): Gate {
  const password = secretPassword(new SecretsManagerClient(awsClientTimes), settings.WEIR_REDIS_SECRET_ARN);
  const connection = new RedisConnection({ url: settings.WEIR_REDIS_URL, password, log });
  const { startWindowMs } = weir.times;
  return redisGate({
    connection,
    keys: cellKeys(settings.WEIR_STAGE),
    limits: weir.limits,
    rates: weir.rates,
    startWindowMs,
  });
}

function wireSigning(settings: { WEIR_SIGNING_SECRET_ARN: string }): Signing {
  return signingKeys(new SecretsManagerClient(awsClientTimes), settings.WEIR_SIGNING_SECRET_ARN);
}

function wireRecords(settings: { WEIR_STAGE: string; WEIR_TABLE: string }): Records {
  const client = new DynamoDBClient(awsClientTimes);
  return dynamoRecords({ client, table: settings.WEIR_TABLE, stage: settings.WEIR_STAGE, now: clock.now });
}

/** Each function has the queues it may send to. */
function wireMessages(settings: {
  WEIR_QUEUE_URLS?: Readonly<Record<string, string>>;
  WEIR_MEND_QUEUE_URL?: string;
  WEIR_DELIVER_QUEUE_URL?: string;
}): Messages {
  const { WEIR_QUEUE_URLS = {}, WEIR_MEND_QUEUE_URL: mendUrl, WEIR_DELIVER_QUEUE_URL: deliverUrl } = settings;
  return sqsMessages(new SQSClient(awsClientTimes), WEIR_QUEUE_URLS, { mendUrl, deliverUrl });
}

function wireFiles(settings: { WEIR_BUCKET: string }): Files {
  return s3Files(new S3Client(awsTransferTimes), settings.WEIR_BUCKET);
}

function wireUploads(settings: { WEIR_TABLE: string }): Uploads {
  return dynamoUploads(new DynamoDBClient(awsClientTimes), settings.WEIR_TABLE);
}

function logger(serviceName: string): Log {
  const powertools = new Logger({ serviceName });
  return {
    info: (message, fields = {}) => powertools.info(message, fields),
    warn: (message, fields = {}) => powertools.warn(message, fields),
    error: (message, fields = {}) => powertools.error(message, fields),
  };
}

/** What task types read of their function's environment. */
export function wireTaskSettings(environment: Environment): TaskSettings {
  return taskSettings(environment, new SecretsManagerClient(awsClientTimes));
}
