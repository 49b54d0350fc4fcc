import type { EpochMs } from '../../domain/time.ts';
import type { TaskKey } from '../../ports.ts';
import { readMember } from './cell.ts';
import type { RedisConnection } from './connection.ts';
import type { CellKeys } from './keys.ts';

/** Entries looked at in one call. */
const scanCount = 1_000;

/** Tasks in the holders hash whose attempt took its slots before a moment (`lua/include/holder.lua`). Their slots may be live or have lapsed. */
export async function oldHolders(connection: RedisConnection, keys: CellKeys, before: EpochMs): Promise<TaskKey[]> {
  const old = new Set<string>();
  let cursor = '0';
  do {
    const [next, entries] = await connection.call('scan of holders', (client) =>
      client.hscan(keys.holders, cursor, 'COUNT', scanCount),
    );
    for (let at = 0; at < entries.length; at += 2) {
      const [holder = '', value = ''] = entries.slice(at, at + 2);
      if (Number(value.split('|')[1]) < before) old.add(holder);
    }
    cursor = next;
  } while (cursor !== '0');
  return [...old].map(readMember);
}
