import { createDeadlineMs, orphanMs } from '../domain/protocol.ts';
import { taskIdTime } from '../domain/task-id.ts';
import { isTerminal, mayStillRun } from '../domain/task-record.ts';
import type { Tier } from '../domain/tiers.ts';
import { addMs } from '../domain/time.ts';
import type { TaskKey } from '../ports.ts';
import type { Deps } from './deps.ts';
import { releaseEnded } from './release.ts';

const pageSize = 100;
/** Seats of one pool that are looked at in one run. */
const mostSeats = 1_000;

type Looking = Pick<Deps, 'weir' | 'gate' | 'records' | 'clock' | 'log'>;

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
      const judged = await Promise.all(old.map((key) => dropIfOrphan(deps, key, name)));
      await deps.gate.dropClientSeats(old.filter((_, index) => judged[index]?.kind === 'unknown'));
      dropped += judged.filter(({ kind }) => kind !== 'open').length;
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
    const judged = await Promise.all(old.slice(at, at + pageSize).map((key) => dropIfOrphan(deps, key)));
    dropped += judged.filter(({ kind }) => kind !== 'open').length;
  }
  return dropped;
}

/** `pool`: where it holds a seat. A cancelled task whose handler may go on is among the open ones still. */
async function dropIfOrphan(
  deps: Looking,
  key: TaskKey,
  pool?: string,
): Promise<{ kind: 'dropped' | 'unknown' | 'open' }> {
  const record = await deps.records.read(key);
  if (record !== undefined && !isTerminal(record.status)) return { kind: 'open' };
  if (record !== undefined && pool === undefined && mayStillRun(record)) return { kind: 'open' };
  const what = pool === undefined ? 'an entry of a holder' : 'a seat';
  deps.log.warn(`${what} without an open task`, { taskId: key.id, status: record?.status ?? 'no record' });
  if (record !== undefined) {
    await releaseEnded(deps, record);
    return { kind: 'dropped' };
  }
  const apis = Object.values(deps.weir.tasks).filter((task) => pool === undefined || task.pool === pool);
  for (const task of apis) {
    const tiers: Tier[] = [
      { tier: 'pool', name: task.pool },
      { tier: 'api', name: task.api },
      { tier: 'tenant', name: key.tenant },
    ];
    await deps.gate.release({ ...key, tiers, permits: 1, dedupKey: '', ended: { pointerMs: 0 } });
  }
  return { kind: 'unknown' };
}
