import { seatMarginMs } from '../config.ts';
import { isTerminal, mayStillRun, type TaskRecord } from '../domain/task-record.ts';
import { addMs, second } from '../domain/time.ts';
import type { Deps } from './deps.ts';
import { enforceStored } from './limits.ts';
import { releaseEnded } from './release.ts';

type Epochs = Pick<Deps, 'records' | 'gate' | 'newNonce' | 'messages' | 'log'>;

/** `begun`: Redis has an epoch now. `busy`: another caller begins it. `lost`: it had one and lost its data; reconcile was woken to rebuild it. */
export type Epoch = { readonly kind: 'begun' | 'busy' | 'lost' };

/** Create deadline, start's 5 s (overlapping), then index lag: what was under way when the data was lost is in the records by then. */
const quietMs = 15 * second;
const lockMs = 60 * second;
const beginLockMs = 5 * second;

/**
 * What a caller does that finds no epoch. A system that never had one is new: who holds the rebuild lock while it writes the first epoch to DynamoDB
 * begins it in Redis at once, under that lock. If it dies in between, the system counts as one that lost its data: its leases went with its epoch,
 * and until they are rebuilt nothing is admitted.
 */
export async function beginEpoch(deps: Epochs): Promise<Epoch> {
  if ((await deps.records.readEpoch()) === undefined) {
    const nonce = deps.newNonce();
    const taken = await deps.gate.restore({ nonce, lockMs: beginLockMs, take: true });
    if (taken.kind === 'begun_already') return { kind: 'begun' };
    if (taken.kind === 'not_mine') return { kind: 'busy' };
    if (await deps.records.createEpoch(1)) {
      const begun = await deps.gate.restore({ nonce, lockMs: beginLockMs, epoch: 1 });
      return { kind: begun.kind === 'not_mine' ? 'busy' : 'begun' };
    }
  }
  await deps.messages.wakeReconcile().catch((error: unknown) => {
    deps.log.warn('reconcile was not woken', { reason: String(error) });
  });
  return { kind: 'lost' };
}

/**
 * Rebuilds Redis from the records after it lost its data: live limits, every open task's seat, and for running tasks the slots of exactly the
 * recorded holder with one lease to live. One rebuilder at a time; each step checks that it still is the one and that there is no epoch. The new
 * epoch comes last and its number is never used twice, so a record always tells whether its seat was charged in the data in force.
 */
export async function rebuild(
  deps: Epochs & Pick<Deps, 'clock' | 'weir'>,
): Promise<{ kind: 'present' | 'rebuilt' | 'busy'; restored: number }> {
  const current = await deps.records.readEpoch();
  if (current === undefined) {
    const { kind } = await beginEpoch(deps);
    return { kind: kind === 'begun' ? 'present' : 'busy', restored: 0 };
  }
  const nonce = deps.newNonce();
  const mine = await deps.gate.restore({ nonce, lockMs, take: true });
  if (mine.kind === 'begun_already') return { kind: 'present', restored: 0 };
  if (mine.kind === 'not_mine') return { kind: 'busy', restored: 0 };
  deps.log.warn('Redis lost its data; rebuilding', { epoch: current });
  await deps.clock.sleep(quietMs);
  await enforceStored(deps);
  let restored = 0;
  for await (const records of openTasks(deps)) {
    const leases = records.map((record) => deps.gate.restore({ nonce, lockMs, lease: leaseOf(deps, record) }));
    const kinds = new Set((await Promise.all(leases)).map(({ kind }) => kind));
    if (kinds.has('not_mine')) return { kind: 'busy', restored };
    if (kinds.has('begun_already')) return { kind: 'present', restored };
    await releaseWhatEnded(deps, records);
    restored += records.length;
  }
  if (!(await deps.records.advanceEpoch(current))) return { kind: 'busy', restored };
  const begun = await deps.gate.restore({ nonce, lockMs, epoch: current + 1 });
  deps.log.warn('rebuilt', { restored, epoch: current + 1, outcome: begun.kind });
  return { kind: begun.kind === 'begun' ? 'rebuilt' : 'busy', restored };
}

/** What ended since it was read has released nothing that was there. */
async function releaseWhatEnded(deps: Epochs, records: readonly TaskRecord[]): Promise<void> {
  const now = new Map((await deps.records.readMany(records)).map((record) => [record.id, record]));
  const ended = records.flatMap((record) => {
    const current = now.get(record.id) ?? { ...record, status: 'expired' as const };
    return isTerminal(current.status) ? [current] : [];
  });
  await Promise.all(ended.map((record) => releaseEnded(deps, record)));
}

/** Page by page: those that are open, and those whose slots may still be held. */
async function* openTasks({ records }: Pick<Deps, 'records'>): AsyncGenerator<readonly TaskRecord[]> {
  for (let shard = 0; shard < records.shards; shard++) {
    let cursor: Awaited<ReturnType<typeof records.open>>['cursor'];
    do {
      const page = await records.open(shard, cursor);
      cursor = page.cursor;
      const read = await records.readMany(page.keys);
      yield read.filter((record) => !isTerminal(record.status) || mayStillRun(record));
    } while (cursor !== undefined);
  }
}

function leaseOf({ weir }: Pick<Deps, 'weir'>, record: TaskRecord) {
  const runs = record.status === 'running';
  const cancelled = mayStillRun(record);
  return {
    ...record,
    seatUntil: cancelled ? undefined : addMs(record.deadline, runs ? seatMarginMs : 0),
    holder: runs || cancelled ? record.holder : undefined,
    leaseMs: weir.pools[record.pool]?.leaseMs ?? lockMs,
  };
}
