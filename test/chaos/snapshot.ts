import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { Redis } from 'ioredis';
import * as z from 'zod';
import type { StackState } from '../../local/state-file.ts';

const record = z
  .object({
    tenant: z.string(),
    id: z.string(),
    status: z.string(),
    attempt: z.number(),
    revision: z.number(),
    failures: z.number(),
    lostLeases: z.number(),
    dedupKey: z.string(),
    createdAt: z.number(),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    input: z.string(),
  })
  .transform(({ input, ...task }) => ({ ...task, tag: tagOf(input) }));

/** A task item; `tag` is its input's. */
export type StoredTask = z.output<typeof record>;
/** A member of a set of leases, `<tenant>|<id>` with `#n` for a slot, and the moment it lapses. */
export type StoredLease = { readonly member: string; readonly until: number };

/** Everything the stores hold, read from each of them directly. */
export type Snapshot = {
  /** Redis's clock. */
  readonly now: number;
  readonly tasks: readonly StoredTask[];
  /** By the end of their key, `<tier>:<name>`; leases that have lapsed too. */
  readonly seats: Readonly<Record<string, readonly StoredLease[]>>;
  readonly slots: Readonly<Record<string, readonly StoredLease[]>>;
  /** Members of the hash of holders. */
  readonly holders: readonly string[];
  /** Locks and pointers without an expiry. */
  readonly timelessLocks: readonly string[];
  /** By queue. */
  readonly deadLetters: Readonly<Record<string, number>>;
};

const local = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };

/** Reads the stores of a running stack by their own ports, past every proxy. */
export async function takeSnapshot(state: StackState): Promise<Snapshot> {
  const [tasks, leases, deadLetters] = await Promise.all([readTasks(state), readRedis(state), countDeadLetters(state)]);
  return { tasks, ...leases, deadLetters };
}

async function readTasks({ dynamodb, tables }: StackState): Promise<StoredTask[]> {
  const client = new DynamoDBClient({ ...local, endpoint: `http://127.0.0.1:${dynamodb?.port}` });
  const tasks: StoredTask[] = [];
  try {
    for (const TableName of tables) {
      let cursor: Record<string, never> | undefined;
      do {
        const page = await client.send(
          new ScanCommand({
            TableName,
            ConsistentRead: true,
            ...(cursor === undefined ? {} : { ExclusiveStartKey: cursor }),
          }),
        );
        for (const item of page.Items ?? [])
          if (item.pk?.S?.startsWith('T#')) tasks.push(record.parse(unmarshall(item)));
        cursor = page.LastEvaluatedKey as Record<string, never> | undefined;
      } while (cursor !== undefined);
    }
  } finally {
    client.destroy();
  }
  return tasks;
}

async function readRedis({ redis }: StackState): Promise<Omit<Snapshot, 'tasks' | 'deadLetters'>> {
  const client = new Redis({
    host: '127.0.0.1',
    port: redis?.port ?? 0,
    ...(redis?.password === undefined ? {} : { password: redis.password }),
  });
  client.on('error', () => {});
  try {
    const [seconds, micros] = await client.time();
    const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    const keys = await client.keys('{weir:*');
    const sets = async (kind: string) => {
      const wanted = keys.filter((key) => key.includes(`}:${kind}:`));
      const entries = wanted.map(
        async (key) => [key.split(`:${kind}:`)[1] ?? key, await leasesOf(client, key)] as const,
      );
      return Object.fromEntries(await Promise.all(entries));
    };
    const locks = keys.filter((key) => key.includes('}:lock:'));
    const times = await Promise.all(locks.map((key) => client.pttl(key)));
    const holders = keys.filter((key) => key.endsWith('}:holders')).map((key) => client.hkeys(key));
    return {
      now,
      seats: await sets('seats'),
      slots: await sets('slots'),
      holders: (await Promise.all(holders)).flat(),
      timelessLocks: locks.filter((_, index) => times[index] === -1),
    };
  } finally {
    client.disconnect();
  }
}

async function leasesOf(client: Redis, key: string): Promise<StoredLease[]> {
  // Pairs in version 3 of the protocol, one flat list in version 2.
  const flat = (await client.zrange(key, 0, '-1', 'WITHSCORES')).flat().map(String);
  return Array.from({ length: flat.length / 2 }, (_, index) => ({
    member: flat[2 * index] ?? '',
    until: Number(flat[2 * index + 1]),
  }));
}

async function countDeadLetters({ sqs, queues }: StackState): Promise<Record<string, number>> {
  const client = new SQSClient({ ...local, endpoint: `http://127.0.0.1:${sqs?.port}` });
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
  try {
    const counts = Object.values(queues)
      .filter((url) => url.endsWith('-dead'))
      .map(async (QueueUrl) => {
        const { Attributes = {} } = await client.send(
          new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] }),
        );
        const count = AttributeNames.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
        return [QueueUrl.split('/').at(-1) ?? QueueUrl, count] as const;
      });
    return Object.fromEntries(await Promise.all(counts));
  } finally {
    client.destroy();
  }
}

function tagOf(input: string): string {
  return z.looseObject({ tag: z.string().optional() }).parse(JSON.parse(input)).tag ?? '';
}
