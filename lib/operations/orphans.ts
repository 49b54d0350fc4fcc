import { createDeadlineMs, orphanMs } from '../domain/protocol.ts';
import { taskIdTime } from '../domain/task-id.ts';
import { isTerminal, mayStillRun, type TaskRecord } from '../domain/task-record.ts';
import type { Tier } from '../domain/tiers.ts';
import { addMs } from '../domain/time.ts';
import type { TaskKey } from '../ports.ts';
import type { Deps } from './deps.ts';
import { releaseEnded } from './release.ts';

const pageSize = 100;
/** Seats of one pool that are looked at in one run. */
const mostSeats = 1_000;

type Looking = Pick<Deps, 'weir' | 'gate' | 'records' | 'clock' | 'log'>;
type Orphan = { readonly key: TaskKey; readonly record: TaskRecord | undefined };

/**
 * Gives back seats that no open task needs: those of a task that has ended, left by who died before releasing, and those without a record, left by who
 * died before creating it. Each record is read by its id, consistently, and only of seats older than the create deadline and `orphanMs`. Entries of
 * holders whose slots have lapsed go likewise. Answers how many were given back.
 */
export async function dropOrphans(deps: Looking): Promise<number> {
  let dropped = 0;
  for (const name of Object.keys(deps.weir.pools)) {
    for (let offset = 0; offset < mostSeats; offset += pageSize) {
      const { now, tasks } = await deps.gate.seats({ tier: { tier: 'pool', name }, offset, count: pageSize });
      const old = tasks.filter(({ id }) => taskIdTime(id) + createDeadlineMs + orphanMs < now);
      dropped += await drop(deps, await orphansAmong(deps, old), { pool: name });
      if (tasks.length < pageSize) break;
    }
  }
  return dropped + (await dropHolders(deps));
}

/**
 * A worker that died between its slots and its start leaves an entry that the task's end cannot take away while those slots are live. The message that
 * comes again does; where there is none any more, this.
 */
async function dropHolders(deps: Looking): Promise<number> {
  const longestLeaseMs = Math.max(...Object.values(deps.weir.pools).map(({ leaseMs }) => leaseMs));
  const old = await deps.gate.oldHolders(addMs(deps.clock.now(), -(longestLeaseMs + orphanMs)));
  let dropped = 0;
  for (let at = 0; at < old.length; at += pageSize) {
    const orphans = await orphansAmong(deps, old.slice(at, at + pageSize));
    // A cancelled task whose handler may go on is among the open ones still.
    const over = orphans.filter(({ record }) => record === undefined || !mayStillRun(record));
    dropped += await drop(deps, over, {});
  }
  return dropped;
}

async function orphansAmong({ records }: Looking, keys: readonly TaskKey[]): Promise<Orphan[]> {
  const read = await Promise.all(keys.map(async (key) => ({ key, record: await records.read(key) })));
  return read.filter(({ record }) => record === undefined || isTerminal(record.status));
}

/** `pool`: that of the seats by which they were found, which go last: who dies in between leaves what the next run finds again. */
async function drop(deps: Looking, orphans: readonly Orphan[], { pool }: { pool?: string }): Promise<number> {
  const unknown = orphans.flatMap(({ key, record }) => (record === undefined ? [key] : []));
  if (pool !== undefined) await deps.gate.dropClientSeats(unknown);
  await Promise.all(
    orphans.map(async ({ key, record }) => {
      const what = pool === undefined ? 'an entry of a holder' : 'a seat';
      deps.log.warn(`${what} without an open task`, { taskId: key.id, status: record?.status ?? 'no record' });
      if (record !== undefined) await releaseEnded(deps, record);
      else
        for (const name of pool === undefined ? Object.keys(deps.weir.pools) : [pool]) await release(deps, key, name);
    }),
  );
  return orphans.length;
}

/** At once from its pool and from every api, as nobody knows of which it was. */
async function release({ gate, weir }: Looking, key: TaskKey, pool: string): Promise<void> {
  const apis = Object.keys(weir.tasks).map((name): Tier => ({ tier: 'api', name }));
  const tiers: Tier[] = [{ tier: 'pool', name: pool }, ...apis];
  await gate.release({ ...key, tiers, permits: 1, dedupKey: '', ended: { pointerMs: 0 } });
}
