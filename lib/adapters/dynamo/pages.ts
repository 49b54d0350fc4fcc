import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { Cursor, PageOf, Positions } from '../../ports.ts';

/** A sparse or tenant's index, read over all its shards as one list, highest sort key first. */
export type Sharded = {
  readonly index: string;
  readonly hash: string;
  readonly sort: string;
  readonly shards: readonly string[];
  /** Both ends included. */
  readonly range?: { readonly from: string | number; readonly to: string | number } | undefined;
};

type Key = { readonly shard: number; readonly key: Record<string, unknown>; readonly sort: string | number };

/** Merges one page of every shard. `positions` is where the next page goes on, absent at the end of all of them. */
export async function readMerged(
  client: DynamoDBClient,
  table: string,
  sharded: Sharded,
  { limit, after }: PageOf,
): Promise<{ keys: Record<string, unknown>[]; positions?: Positions | undefined }> {
  const pages = await Promise.all(
    sharded.shards.map((_, shard) =>
      after?.[shard] === null ? [] : readShard(client, table, sharded, shard, limit, after?.[shard]),
    ),
  );
  const taken = pages
    .flat()
    .sort((a, b) => (a.sort < b.sort ? 1 : a.sort > b.sort ? -1 : 0))
    .slice(0, limit);
  const positions = pages.map((page, shard): Cursor | null => {
    const last = taken.findLast((key) => key.shard === shard);
    const all = taken.filter((key) => key.shard === shard).length === page.length;
    // A shard that gave less than it was asked for has no more.
    if (all && page.length < limit) return null;
    return last?.key ?? after?.[shard] ?? beginning;
  });
  const keys = taken.map(({ key }) => key);
  return positions.every((position) => position === null) ? { keys } : { keys, positions };
}

/** Of a shard from which nothing was taken yet. */
const beginning: Cursor = {};

async function readShard(
  client: DynamoDBClient,
  table: string,
  { index, hash, sort, shards, range }: Sharded,
  shard: number,
  limit: number,
  after: Cursor | undefined,
): Promise<Key[]> {
  const within = range === undefined ? '' : ' AND #sort BETWEEN :from AND :to';
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      IndexName: index,
      KeyConditionExpression: `#hash = :hash${within}`,
      ExpressionAttributeNames: { '#hash': hash, ...(range === undefined ? {} : { '#sort': sort }) },
      ExpressionAttributeValues: marshall({
        ':hash': shards[shard],
        ...(range === undefined ? {} : { ':from': range.from, ':to': range.to }),
      }),
      ScanIndexForward: false,
      Limit: limit,
      ...(after === undefined || Object.keys(after).length === 0 ? {} : { ExclusiveStartKey: marshall(after) }),
    }),
  );
  return Items.map((item) => {
    const key = unmarshall(item);
    return { shard, key, sort: key[sort] as string | number };
  });
}
