import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DeleteTableCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { Redis } from 'ioredis';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import { awsClient } from '../support/aws-client.ts';
import type { Ports } from '../support/process-deps.ts';
import type { Start } from './start.ts';

const processes = 8;
export const posts = 200;

/** One round: how many answers of each kind there were, and what the stores hold after it. */
export type Round = {
  readonly answers: Readonly<Record<string, number>>;
  /** Queued tasks in DynamoDB, dedup items there, and seats of the pool in Redis: by id, in order. */
  readonly records: readonly string[];
  readonly dedup: readonly string[];
  readonly seats: readonly string[];
};

/** Eight processes that post together, 200 posts a round, each round to a system that has never been used and has no epoch. */
export class Race {
  readonly #ports: Ports;
  readonly #workers: ChildProcess[];
  readonly #dynamodb: DynamoDBClient;
  readonly #sqs: SQSClient;
  readonly #redis: Redis;

  constructor(ports: Ports) {
    this.#ports = ports;
    const worker = new URL('./worker.ts', import.meta.url);
    this.#workers = Array.from({ length: processes }, () => fork(worker, { execArgv: [] }));
    this.#dynamodb = new DynamoDBClient(awsClient(ports.dynamodb));
    this.#sqs = new SQSClient(awsClient(ports.sqsS3));
    this.#redis = new Redis({ host: '127.0.0.1', port: ports.redis });
  }

  async round(limit: number, by: Start['by'] = 'pool'): Promise<Round> {
    const name = `race-${randomUUID()}`;
    const { QueueUrl: queueUrl = '' } = await this.#sqs.send(new CreateQueueCommand({ QueueName: name }));
    await this.#dynamodb.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      }),
    );
    const start: Start = { ports: this.#ports, stage: name, table: name, queueUrl, limit, by };
    await Promise.all(this.#workers.map((worker) => ask(worker, start)));
    const told = await Promise.all(
      this.#workers.map((worker, index) => ask<{ answers: string[] }>(worker, { posts: numbersOf(index) })),
    );
    const answers: Record<string, number> = {};
    for (const kind of told.flatMap((each) => each.answers)) answers[kind] = (answers[kind] ?? 0) + 1;
    const stored = await this.#stored(name);
    const seats = await this.#redis.zrange(cellKeys(name).seats({ tier: 'pool', name: 'p' }), '0', '-1');
    await this.#dynamodb.send(new DeleteTableCommand({ TableName: name }));
    return { answers, ...stored, seats: seats.map((member) => member.slice(member.lastIndexOf('|') + 1)).sort() };
  }

  async #stored(TableName: string): Promise<Pick<Round, 'records' | 'dedup'>> {
    const { Items = [] } = await this.#dynamodb.send(new ScanCommand({ TableName, ConsistentRead: true }));
    const items = Items.map((item) => unmarshall(item));
    const ids = (prefix: string, field: string) =>
      items.flatMap((item) => (String(item.pk).startsWith(prefix) ? [String(item[field])] : [])).sort();
    return { records: ids('T#', 'id'), dedup: ids('D#', 'taskId') };
  }

  close(): void {
    for (const worker of this.#workers) worker.disconnect();
    this.#redis.disconnect();
    this.#dynamodb.destroy();
    this.#sqs.destroy();
  }
}

function numbersOf(process: number): number[] {
  const each = posts / processes;
  return Array.from({ length: each }, (_, index) => process * each + index);
}

/** Sends a message and waits for the answer, or for the end of the process. */
function ask<Answer>(worker: ChildProcess, message: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process of the race ended (${code})`));
    worker.once('exit', ended);
    worker.once('message', (answer) => {
      worker.off('exit', ended);
      resolve(answer as Answer);
    });
    worker.send(message);
  });
}

/** What is wrong with a round: nothing where exactly `limit` posts were admitted, in the stores as in the answers, and all others were rejected. */
export function faultsOf({ answers, records, dedup, seats }: Round, limit: number): string[] {
  const { admitted = 0, rejected: full = 0, rate_limited: tooFast = 0, ...others } = answers;
  const rejected = full + tooFast;
  const held = JSON.stringify(records);
  return [
    ...(admitted === limit ? [] : [`${admitted} were told that they are admitted`]),
    ...(rejected === posts - limit ? [] : [`${rejected} were rejected`]),
    ...Object.entries(others).map(([kind, count]) => `${count} × ${kind}`),
    ...(records.length === limit ? [] : [`${records.length} records`]),
    ...(JSON.stringify(seats) === held
      ? []
      : [`seats of ${seats.length} tasks are not those of ${records.length} records`]),
    ...(JSON.stringify(dedup) === held
      ? []
      : [`${dedup.length} dedup items are not those of ${records.length} records`]),
  ];
}
