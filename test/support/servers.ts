import type { TestProject } from 'vitest/node';
import { startDynamoDb } from '../../local/services/dynamodb.ts';
import { startRedis } from '../../local/services/redis.ts';
import { startSqsS3 } from '../../local/services/sqs-s3.ts';

declare module 'vitest' {
  interface ProvidedContext {
    ports: { redis: number; dynamodb: number; sqsS3: number };
  }
}

/** Real servers for every test of the run; each test takes fresh names on them, so nothing is flushed. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await Promise.all([startRedis(), startDynamoDb(), startSqsS3()]);
  const [redis, dynamodb, sqsS3] = services;
  project.provide('ports', { redis: redis.port, dynamodb: dynamodb.port, sqsS3: sqsS3.port });
  return async () => {
    await Promise.all(services.map((service) => service.stop()));
  };
}
