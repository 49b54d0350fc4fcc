import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';

/** The one pair of credentials on this machine: signed URLs are checked against it. */
export const localCredentials = { accessKeyId: 'local', secretAccessKey: 'local' };

export type Clients = { dynamodb: DynamoDBClient; sqs: SQSClient; s3: S3Client; destroy(): void };

export function createClients(region: string, ports: { dynamodb: number; sqs: number; s3: number }): Clients {
  const settings = (port: number) => ({ region, credentials: localCredentials, endpoint: `http://127.0.0.1:${port}` });
  const dynamodb = new DynamoDBClient(settings(ports.dynamodb));
  const sqs = new SQSClient(settings(ports.sqs));
  const s3 = new S3Client({ ...settings(ports.s3), forcePathStyle: true });
  return {
    dynamodb,
    sqs,
    s3,
    destroy() {
      for (const client of [dynamodb, sqs, s3]) client.destroy();
    },
  };
}
