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
import { awsClientTimes } from './adapters/outage.ts';
import { RedisConnection } from './adapters/redis/connection.ts';
import { redisGate } from './adapters/redis/gate.ts';
import { cellKeys } from './adapters/redis/keys.ts';
import { s3Files } from './adapters/s3/files.ts';
import { secretPassword } from './adapters/secrets.ts';
import { sqsDeadLetters, sqsMessages } from './adapters/sqs/messages.ts';
import { checkConfig, type Weir, type WeirConfig } from './config.ts';
import { toTaskId } from './domain/task-id.ts';
import { toEpochMs } from './domain/time.ts';
import type { Deps } from './operations/deps.ts';
import { Outlook } from './operations/outlook.ts';
import type { Clock, DeadLetters, Files, Gate, Log, Messages, Records } from './ports.ts';
import { type FunctionName, readSettings, type Settings } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Wired<Name extends FunctionName> = { readonly settings: Settings<Name>; readonly weir: Weir; readonly log: Log };

const clock: Clock = { now: () => toEpochMs(Date.now()), sleep: (ms) => sleep(ms) };

/** Settings, configuration and log of one function, read once at cold start; throws with what is missing or wrong. */
export function wire<Name extends FunctionName>(name: Name, config: WeirConfig, environment: Environment): Wired<Name> {
  return { settings: readSettings(name, environment), weir: checkConfig(config, environment), log: logger(name) };
}

/** Everything the operations need, for a function that has all variables. */
export function wireDeps(wired: Wired<'admit'> | Wired<'work'>): Deps {
  const { settings } = wired;
  return {
    ...wireStores(wired),
    ...wireProcess(),
    messages: wireMessages(settings, settings.WEIR_MEND_QUEUE_URL),
    files: wireFiles(settings),
  };
}

/** What reconcile needs: it touches no file and wakes nobody. */
export function wireReconcile(wired: Wired<'reconcile'>): Omit<Deps, 'files'> {
  return { ...wireStores(wired), ...wireProcess(), messages: wireMessages(wired.settings) };
}

type Stores = Pick<Deps, 'weir' | 'log' | 'clock' | 'gate' | 'outlook' | 'records'>;

/** What reading a task needs: the record, and what a queued one waits on. */
export function wireStatus(wired: Wired<'status'>): Stores {
  return wireStores(wired);
}

/** What the overview and the operator's routes need. */
export function wireControl(wired: Wired<'control'>): Stores & { deadLetters: DeadLetters } {
  const sqs = new SQSClient(awsClientTimes);
  return { ...wireStores(wired), deadLetters: sqsDeadLetters(sqs, wired.settings.WEIR_DEAD_QUEUE_URLS) };
}

function wireStores({ settings, weir, log }: Wired<'admit' | 'work' | 'reconcile' | 'status' | 'control'>): Stores {
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

function wireProcess(): Pick<Deps, 'newId' | 'newNonce' | 'exit'> {
  return {
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
  return redisGate({ connection, keys: cellKeys(settings.WEIR_STAGE), limits: weir.limits, startWindowMs });
}

function wireRecords(settings: { WEIR_STAGE: string; WEIR_TABLE: string }): Records {
  const client = new DynamoDBClient(awsClientTimes);
  return dynamoRecords({ client, table: settings.WEIR_TABLE, stage: settings.WEIR_STAGE, now: clock.now });
}

function wireMessages(settings: { WEIR_QUEUE_URLS: Readonly<Record<string, string>> }, mendUrl?: string): Messages {
  return sqsMessages(new SQSClient(awsClientTimes), settings.WEIR_QUEUE_URLS, mendUrl);
}

function wireFiles(settings: { WEIR_BUCKET: string }): Files {
  return s3Files(new S3Client(awsClientTimes), settings.WEIR_BUCKET);
}

function logger(serviceName: string): Log {
  const powertools = new Logger({ serviceName });
  return {
    info: (message, fields = {}) => powertools.info(message, fields),
    warn: (message, fields = {}) => powertools.warn(message, fields),
    error: (message, fields = {}) => powertools.error(message, fields),
  };
}
