import type { Cluster, Redis } from 'ioredis';
import type { TaskKey } from '../../ports.ts';
import { member } from './cell.ts';
import type { RedisConnection } from './connection.ts';
import type { CellKeys } from './keys.ts';

/** Keys looked at in one call of some milliseconds, so that decisions go on in between. */
const scanCount = 2_000;

/** Takes the seats of tasks from the sets of all tenants and addresses, which only their names' digests tell apart. */
export async function dropClientSeats(
  connection: RedisConnection,
  keys: CellKeys,
  tasks: readonly TaskKey[],
): Promise<void> {
  if (tasks.length === 0) return;
  const members = tasks.map(member);
  const scan = (cursor: string) =>
    connection.call('scan of seats', async (client) => {
      const node = await ownerOf(client, keys.limits);
      const [next, found] = await node.scan(cursor, 'MATCH', keys.clientSeats, 'COUNT', scanCount);
      for (const key of found) await node.zrem(key, ...members);
      return next;
    });
  for (let cursor = await scan('0'); cursor !== '0'; ) cursor = await scan(cursor);
}

/** All keys of a cell are on one node. */
async function ownerOf(client: Cluster, key: string): Promise<Redis> {
  for (const node of client.nodes('master')) {
    if ((await node.exists(key).catch(() => 0)) === 1) return node;
  }
  throw new Error(`expected a node with ${key}`);
}
