import { setTimeout as sleep } from 'node:timers/promises';
import type { StackState } from '../../local/state-file.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';
import { leaseMs, reconcilePeriodMs } from './times.ts';
import { isEnd } from './witness.ts';

const lookEveryMs = 1_000;
/** Tasks that were queued when the load ended, each with the retries and lost leases it may still have. */
const endWithinMs = 90_000;
/** An ended task's slots lapse within a lease, and its message comes again; seats and holders that are left then are judged by their age. */
const releaseWithinMs = leaseMs + reconcilePeriodMs + 1_000;

/** Waits until every task has ended and holds nothing, for a bounded time; who judges then says what was still there. */
export async function settle(state: () => StackState, signal: AbortSignal): Promise<void> {
  const until = Date.now() + endWithinMs;
  let releasedBy: number | undefined;
  while (Date.now() < until && !signal.aborted) {
    const seen = await takeSnapshot(state()).catch(() => undefined);
    if (seen?.tasks.every(({ status }) => isEnd(status))) {
      releasedBy ??= Date.now() + releaseWithinMs;
      if (holdsNothing(seen) || Date.now() >= releasedBy) return;
    }
    await sleep(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

/** No live slot, no holder, and no seat but of those that never got a record. */
function holdsNothing({ now, tasks, seats, slots, holders }: Snapshot): boolean {
  const ids = new Set(tasks.map(({ tenant, id }) => `${tenant}|${id}`));
  const live = (sets: Snapshot['seats']) =>
    Object.values(sets).flatMap((set) => set.filter(({ until }) => until > now));
  return holders.length === 0 && live(slots).length === 0 && !live(seats).some(({ member }) => ids.has(member));
}
