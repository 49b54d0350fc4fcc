import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { toEpochMs } from '../../domain/time.ts';
import type { LimitsVersion, Records } from '../../ports.ts';

const epochItem = z.object({ epoch: z.int() });
const limitsItem = z.object({
  version: z.int(),
  overrides: z.string().transform((text) => JSON.parse(text) as LimitsVersion['overrides']),
  paused: z
    .string()
    .default('{}')
    .transform((text) => JSON.parse(text) as LimitsVersion['paused']),
  changedAt: z.number().transform(toEpochMs),
  changedBy: z.string(),
});

type Settings = Pick<Records, 'readEpoch' | 'createEpoch' | 'advanceEpoch' | 'readLimits' | 'writeLimits'>;

/** A cell's settings: its epoch, and its live limits with every earlier version. */
export function dynamoSettings({
  client,
  table,
  stage,
}: {
  client: DynamoDBClient;
  table: string;
  stage: string;
}): Settings {
  const epochKey = { pk: `S#${stage}#0#epoch` };
  const limitsKey = (version?: number) => ({ pk: `S#${stage}#0#limits${version === undefined ? '' : `#${version}`}` });

  async function get(key: { pk: string }): Promise<Record<string, unknown> | undefined> {
    const { Item } = await client.send(
      new GetItemCommand({ TableName: table, Key: marshall(key), ConsistentRead: true }),
    );
    return Item && unmarshall(Item);
  }

  async function readEpoch(): Promise<number | undefined> {
    const stored = await get(epochKey);
    return stored && epochItem.parse(stored).epoch;
  }

  async function putIf(item: object, condition: string, values?: Record<string, number>): Promise<boolean> {
    const put = new PutItemCommand({
      TableName: table,
      Item: marshall(item),
      ConditionExpression: condition,
      ...(values === undefined ? {} : { ExpressionAttributeValues: marshall(values) }),
    });
    try {
      await client.send(put);
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  return {
    readEpoch,
    createEpoch: (epoch) => putIf({ ...epochKey, epoch }, 'attribute_not_exists(pk)'),
    async advanceEpoch(epoch) {
      if (await putIf({ ...epochKey, epoch: epoch + 1 }, 'epoch = :epoch', { ':epoch': epoch })) return true;
      // A repeat after a lost reply finds its own work; whoever else advanced it held the rebuilder's lock, and so holds it still.
      return (await readEpoch()) === epoch + 1;
    },
    async readLimits(version) {
      const stored = await get(limitsKey(version));
      return stored && limitsItem.parse(stored);
    },
    async writeLimits(limits) {
      const fields = { ...limits, overrides: JSON.stringify(limits.overrides), paused: JSON.stringify(limits.paused) };
      const first = limits.version === 1;
      const put = (key: { pk: string }, ConditionExpression: string, values?: Record<string, number>) => ({
        Put: {
          TableName: table,
          Item: marshall({ ...key, ...fields }),
          ConditionExpression,
          ...(values === undefined ? {} : { ExpressionAttributeValues: marshall(values) }),
        },
      });
      const current = first
        ? put(limitsKey(), 'attribute_not_exists(pk)')
        : put(limitsKey(), 'version = :before', { ':before': limits.version - 1 });
      const kept = put(limitsKey(limits.version), 'attribute_not_exists(pk)');
      try {
        await client.send(new TransactWriteItemsCommand({ TransactItems: [current, kept] }));
        return true;
      } catch (error) {
        const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
        if (reasons.some(({ Code }) => Code === 'ConditionalCheckFailed' || Code === 'TransactionConflict'))
          return false;
        throw error;
      }
    },
  };
}
