import { CreateTableCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';

export type CommitBarrier = { pass(): Promise<void>; close(): void };

const TableName = 'chaos-barrier';
const key = 'pk';

/**
 * DynamoDB Local answers a transaction a few milliseconds before it has committed it: of twelve killed at the reply, nine had lost it, of single writes
 * none. Its commits come one after another, so once a write after it is acknowledged the transaction is on disk; with this barrier none of thirty was
 * lost. Throws when the service is away: then nobody may be told that the transaction was carried out.
 */
export async function openCommitBarrier(port: number): Promise<CommitBarrier> {
  const client = new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    endpoint: `http://127.0.0.1:${port}`,
    maxAttempts: 1,
  });
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
      KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
    }),
  );
  return {
    async pass() {
      await client.send(new PutItemCommand({ TableName, Item: { [key]: { S: 'passed' } } }));
    },
    close: () => client.destroy(),
  };
}
