import { setTimeout as sleep } from 'node:timers/promises';
import { PurgeQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { Redis } from 'ioredis';
import type { StackState } from '../../local/state-file.ts';

/** A rebuild waits 15 s, and one that was killed lets the next begin after its lock's 60 s. */
const rebuiltWithinMs = 150_000;
const lookEveryMs = 500;

/** Takes all data from Redis, and waits until the system has put back what it needs: until there is an epoch again. */
export async function loseRedis({ redis }: StackState): Promise<boolean> {
  const client = new Redis({
    host: '127.0.0.1',
    port: redis?.port ?? 0,
    ...(redis?.password === undefined ? {} : { password: redis.password }),
  });
  client.on('error', () => {});
  const hasEpoch = async () => {
    const [limits] = await client.keys('{weir:*}:limits');
    return limits !== undefined && (await client.hexists(limits, 'epoch')) === 1;
  };
  try {
    await client.flushall();
    const until = Date.now() + rebuiltWithinMs;
    while (!(await hasEpoch()) && Date.now() < until) await sleep(lookEveryMs);
    return true;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

/** Empties every queue but those of dead letters; what a worker has in hand it keeps. */
export async function loseMessages({ sqs, queues }: StackState): Promise<boolean> {
  const client = new SQSClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    endpoint: `http://127.0.0.1:${sqs?.port}`,
  });
  try {
    const urls = Object.values(queues).filter((url) => !url.endsWith('-dead'));
    await Promise.all(urls.map((QueueUrl) => client.send(new PurgeQueueCommand({ QueueUrl }))));
    return true;
  } catch {
    return false;
  } finally {
    client.destroy();
  }
}
