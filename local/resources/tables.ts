import {
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { messageOf, StackError } from '../stack-error.ts';
import type { StackScope } from '../template/scope.ts';
import { parseProperties, resourcesOfType, type Template } from '../template/template.ts';

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) })).min(1);
const indexSchema = z.object({
  IndexName: z.string(),
  KeySchema: keySchema,
  Projection: z.object({
    ProjectionType: z.enum(['ALL', 'KEYS_ONLY', 'INCLUDE']),
    NonKeyAttributes: z.array(z.string()).optional(),
  }),
});
const tableSchema = z.object({
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) })),
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z.array(indexSchema).optional(),
  LocalSecondaryIndexes: z.array(indexSchema).optional(),
  TimeToLiveSpecification: z.object({ AttributeName: z.string().optional(), Enabled: z.boolean() }).optional(),
});
type Table = z.output<typeof tableSchema>;

/** Creates the template's tables that are not there yet; returns their names. A kept table with other keys is refused. */
export async function createTables(
  template: Template,
  scope: StackScope,
  client: DynamoDBClient,
  dataFolder: string,
): Promise<string[]> {
  const resources = resourcesOfType(template, 'AWS::DynamoDB::GlobalTable', 'AWS::DynamoDB::Table');
  return Promise.all(
    resources.map(async ({ logicalId }) => {
      const name = scope.nameOf(logicalId);
      const table = parseProperties(logicalId, tableSchema, scope.properties(logicalId));
      const kept = await keysOf(client, name);
      if (kept === undefined) await createTable(client, name, table);
      else if (kept !== keysIn(table)) {
        throw new StackError(
          `${logicalId}: the kept table ${name} has other keys or indexes (${kept}, wanted ${keysIn(table)}): remove ${dataFolder}`,
        );
      }
      return name;
    }),
  );
}

async function createTable(client: DynamoDBClient, name: string, table: Table): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: table.AttributeDefinitions,
      KeySchema: table.KeySchema,
      GlobalSecondaryIndexes: table.GlobalSecondaryIndexes,
      LocalSecondaryIndexes: table.LocalSecondaryIndexes,
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 1, maxDelay: 1 }, { TableName: name });
  const ttl = table.TimeToLiveSpecification;
  if (ttl?.Enabled !== true || ttl.AttributeName === undefined) return;
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName: name,
      TimeToLiveSpecification: { AttributeName: ttl.AttributeName, Enabled: true },
    }),
  );
}

// Keys and indexes as one comparable text: `pk HASH, sk RANGE; bySort(sk HASH)`.
function keysIn(table: Pick<Table, 'KeySchema' | 'GlobalSecondaryIndexes' | 'LocalSecondaryIndexes'>): string {
  const keys = (schema: Table['KeySchema']) => schema.map((key) => `${key.AttributeName} ${key.KeyType}`).join(', ');
  const indexes = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])]
    .map((index) => `${index.IndexName}(${keys(index.KeySchema)} ${index.Projection.ProjectionType})`)
    .sort();
  return [keys(table.KeySchema), ...indexes].join('; ');
}

async function keysOf(client: DynamoDBClient, name: string): Promise<string | undefined> {
  try {
    const { Table: kept } = await client.send(new DescribeTableCommand({ TableName: name }));
    return keysIn(tableSchema.parse(kept));
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw new StackError(`cannot read the table ${name}: ${messageOf(error)}`);
  }
}
