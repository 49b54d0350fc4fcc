import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { v7 as uuid7 } from 'uuid';
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
export function wireDeps({ settings, weir, log }: Wired<'admit'> | Wired<'work'>): Deps {
  return {
    ...wireCommon(),
    weir,
    log,
    gate: wireGate(settings, weir, log),
    records: wireRecords(settings),
    messages: wireMessages(settings),
    files: wireFiles(settings),
  };
}

/** What reconcile needs: it touches no file. */
export function wireReconcile({ settings, weir, log }: Wired<'reconcile'>): Omit<Deps, 'files'> {
  return {
    ...wireCommon(),
    weir,
    log,
    gate: wireGate(settings, weir, log),
    records: wireRecords(settings),
    messages: wireMessages(settings),
  };
}

/** What reading a task needs. */
export function wireStatus({ settings }: Wired<'status'>): Pick<Deps, 'records' | 'clock'> {
  return { clock, records: wireRecords(settings) };
}

/** What the overview needs. */
export function wireControl({
  settings,
  weir,
  log,
}: Wired<'control'>): Pick<Deps, 'weir' | 'gate'> & { deadLetters: DeadLetters } {
  const deadLetters = sqsDeadLetters(new SQSClient(awsClientTimes), settings.WEIR_DEAD_QUEUE_URLS);
  return { weir, gate: wireGate(settings, weir, log), deadLetters };
}

function wireCommon(): Pick<Deps, 'clock' | 'newId' | 'newNonce' | 'exit'> {
  return {
    clock,
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

function wireMessages(settings: { WEIR_QUEUE_URLS: Readonly<Record<string, string>> }): Messages {
  return sqsMessages(new SQSClient(awsClientTimes), settings.WEIR_QUEUE_URLS);
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
