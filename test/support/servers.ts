import type { TestProject } from 'vitest/node';
import { localCredentials } from '../../local/clients.ts';
import { startS3Guard } from '../../local/s3/guard.ts';
import { startDynamoDb } from '../../local/services/dynamodb.ts';
import { startRedis } from '../../local/services/redis.ts';
import { startSqsS3 } from '../../local/services/sqs-s3.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `sqsS3` is the server of both, `s3` the guard before it. */
    ports: { redis: number; dynamodb: number; sqsS3: number; s3: number };
  }
}

/** Real servers for every test of the run; each test takes fresh names on them, so nothing is flushed. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await Promise.all([startRedis(), startDynamoDb(), startSqsS3()]);
  const [redis, dynamodb, sqsS3] = services;
  const s3 = await startS3Guard(sqsS3, localCredentials);
  project.provide('ports', { redis: redis.port, dynamodb: dynamodb.port, sqsS3: sqsS3.port, s3: s3.port });
  return async () => {
    await s3.close();
    await Promise.all(services.map((service) => service.stop()));
  };
}
