import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Item } from './item.ts';

/** A consistent read by key. */
export async function getItem(client: DynamoDBClient, table: string, pk: string): Promise<Item | undefined> {
  const { Item } = await client.send(
    new GetItemCommand({ TableName: table, Key: marshall({ pk }), ConsistentRead: true }),
  );
  return Item;
}

/** Writes a whole item, its `pk` in it, where `condition` holds; false where it does not. Members that are undefined are left out. */
export async function putIf(
  client: DynamoDBClient,
  table: string,
  item: Readonly<Record<string, unknown>>,
  condition: string,
  values?: Readonly<Record<string, string | number>>,
): Promise<boolean> {
  try {
    await client.send(
      new PutItemCommand({
        TableName: table,
        Item: marshall(item, { removeUndefinedValues: true }),
        ConditionExpression: condition,
        ...(values === undefined ? {} : { ExpressionAttributeValues: marshall(values) }),
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}
