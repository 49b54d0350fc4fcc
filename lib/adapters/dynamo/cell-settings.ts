import { type DynamoDBClient, TransactionCanceledException, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import type { LimitsVersion, Records } from '../../ports.ts';
import { moment } from './item.ts';
import { getItem, putIf } from './one-item.ts';

const epochItem = z.object({ epoch: z.int() });
const limitsItem = z.object({
  version: z.int(),
  overrides: z.string().transform((text) => JSON.parse(text) as LimitsVersion['overrides']),
  paused: z
    .string()
    .default('{}')
    .transform((text) => JSON.parse(text) as LimitsVersion['paused']),
  changedAt: moment,
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
  const epochKey = `S#${stage}#0#epoch`;
  const limitsKey = (version?: number) => `S#${stage}#0#limits${version === undefined ? '' : `#${version}`}`;

  async function readEpoch(): Promise<number | undefined> {
    const stored = await getItem(client, table, epochKey);
    return stored && epochItem.parse(unmarshall(stored)).epoch;
  }

  const putEpoch = (epoch: number, condition: string, values?: Record<string, number>) =>
    putIf(client, table, { pk: epochKey, epoch }, condition, values);

  return {
    readEpoch,
    createEpoch: (epoch) => putEpoch(epoch, 'attribute_not_exists(pk)'),
    async advanceEpoch(epoch) {
      if (await putEpoch(epoch + 1, 'epoch = :epoch', { ':epoch': epoch })) return true;
      // A repeat after a lost reply finds its own work; whoever else advanced it held the rebuilder's lock, and so holds it still.
      return (await readEpoch()) === epoch + 1;
    },
    async readLimits(version) {
      const stored = await getItem(client, table, limitsKey(version));
      return stored && limitsItem.parse(unmarshall(stored));
    },
    async writeLimits(limits) {
      const fields = { ...limits, overrides: JSON.stringify(limits.overrides), paused: JSON.stringify(limits.paused) };
      const first = limits.version === 1;
      const put = (pk: string, ConditionExpression: string, values?: Record<string, number>) => ({
        Put: {
          TableName: table,
          Item: marshall({ pk, ...fields }),
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
