import { createDeadlineMs, orphanMs } from '../domain/protocol.ts';
import { taskIdTime } from '../domain/task-id.ts';
import { isTerminal } from '../domain/task-record.ts';
import type { Tier } from '../domain/tiers.ts';
import type { TaskKey } from '../ports.ts';
import type { Deps } from './deps.ts';
import { releaseEnded } from './release.ts';

const pageSize = 100;
/** Seats of one pool that are looked at in one run. */
const mostSeats = 1_000;

/**
 * Gives back seats that no open task needs: those of a task that has ended, left by who died before releasing, and those without a record, left by who
 * died before creating it. Each record is read by its id, consistently, and only of seats older than the create deadline and `orphanMs`. Answers
 * how many were given back.
 */
export async function dropOrphans(deps: Pick<Deps, 'weir' | 'gate' | 'records' | 'log'>): Promise<number> {
  let dropped = 0;
  for (const name of Object.keys(deps.weir.pools)) {
    for (let offset = 0; offset < mostSeats; offset += pageSize) {
      const { now, tasks } = await deps.gate.seats({ tier: { tier: 'pool', name }, offset, count: pageSize });
      const old = tasks.filter(({ id }) => taskIdTime(id) + createDeadlineMs + orphanMs < now);
      const judged = await Promise.all(old.map((key) => dropIfOrphan(deps, name, key)));
      await deps.gate.dropClientSeats(old.filter((_, index) => judged[index]?.kind === 'unknown'));
      dropped += judged.filter(({ kind }) => kind !== 'open').length;
      if (tasks.length < pageSize) break;
    }
  }
  return dropped;
}

async function dropIfOrphan(
  deps: Pick<Deps, 'weir' | 'gate' | 'records' | 'log'>,
  pool: string,
  key: TaskKey,
): Promise<{ kind: 'dropped' | 'unknown' | 'open' }> {
  const record = await deps.records.read(key);
  if (record !== undefined && !isTerminal(record.status)) return { kind: 'open' };
  deps.log.warn('a seat without an open task', { taskId: key.id, status: record?.status ?? 'no record' });
  if (record !== undefined) {
    await releaseEnded(deps, record);
    return { kind: 'dropped' };
  }
  const apis = Object.values(deps.weir.tasks).filter((task) => task.pool === pool);
  for (const { api } of apis) {
    const tiers: Tier[] = [
      { tier: 'pool', name: pool },
      { tier: 'api', name: api },
      { tier: 'tenant', name: key.tenant },
    ];
    await deps.gate.release({ ...key, tiers, permits: 1, dedupKey: '', ended: { pointerMs: 0 } });
  }
  return { kind: 'unknown' };
}
