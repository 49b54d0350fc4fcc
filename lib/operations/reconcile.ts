import { createDeadlineMs } from '../domain/protocol.ts';
import { addMs, type EpochMs, second } from '../domain/time.ts';
import type { Cursor } from '../ports.ts';
import type { Deps } from './deps.ts';
import { rebuild } from './epoch.ts';
import { enforceStored } from './limits.ts';
import { logFailure } from './log-failure.ts';
import { type Mended, mend } from './mend.ts';
import { dropOrphans } from './orphans.ts';
import { continueRedrive } from './redrive-job.ts';

/**
 * What one run mended, by duty; `left` counts due tasks that wait for the next run: a service was away, the record cannot be read, or the time was
 * over. `skipped`: another run was under way, and this one did nothing.
 */
export type Reconciled = Record<Mended | 'orphans' | 'redriven' | 'skipped', number>;

type Reconciling = Omit<Deps, 'files'>;

const runMs = 40 * second;
/** A redrive goes on while its pool is full, so it has time of its own, within the minute between two runs. */
const redriveMs = 50 * second;
const atOnce = 10;
/** A run that died keeps others away for this long at most. */
const singleMs = createDeadlineMs;

/**
 * Looks at every open task that is due, in pages to the end or until the run's time is over, and mends what a crash left: sends what was not sent,
 * queues again what lost its worker, tells of ends that were not told. One run at a time, to save work alone: each step is conditional on the record.
 */
export async function reconcile(deps: Reconciling): Promise<Reconciled> {
  const counts: Reconciled = {
    ...{ sent: 0, expired: 0, requeued: 0, failed: 0, alive: 0, announced: 0, closed: 0, left: 0 },
    ...{ orphans: 0, redriven: 0, skipped: 0 },
  };
  const nonce = deps.newNonce();
  const startedAt = deps.clock.now();
  if (!(await takePlace(deps, nonce))) return { ...counts, skipped: 1 };
  const keeping = setInterval(() => void takePlace(deps, nonce), singleMs / 3);
  try {
    await mendRedis(deps);
    await mendDue(deps, addMs(startedAt, runMs), counts);
    counts.orphans = await attempted(deps, 'seats were not looked after', () => dropOrphans(deps));
    counts.redriven = await attempted(deps, 'the redrive did not go on', () =>
      continueRedrive(deps, addMs(startedAt, redriveMs)),
    );
  } finally {
    clearInterval(keeping);
    await deps.gate.single({ name: 'reconcile', nonce, lastMs: 0 }).catch(() => undefined);
  }
  for (const [duty, count] of Object.entries(counts)) {
    if (count > 0) deps.metrics.count('reconcile_mended_total', count, { duty });
  }
  return counts;
}

/** Where Redis does not say whether another run is under way, this one goes on. */
async function takePlace({ gate, log }: Reconciling, nonce: string): Promise<boolean> {
  try {
    return (await gate.single({ name: 'reconcile', nonce, lastMs: singleMs })).kind === 'mine';
  } catch (error) {
    logFailure(log, 'nobody says whether another run is under way', error);
    return true;
  }
}

async function mendDue(deps: Reconciling, until: EpochMs, counts: Reconciled): Promise<void> {
  const { shards } = deps.records;
  // Where there is more than one run can do, another shard is the last one next time.
  const first = Math.floor(Math.random() * shards);
  for (let turn = 0; turn < shards; turn++) {
    const shard = (first + turn) % shards;
    let cursor: Cursor | undefined;
    do {
      const page = await deps.records.due(shard, deps.clock.now(), cursor);
      cursor = page.cursor;
      for (let at = 0; at < page.keys.length; at += atOnce) {
        if (deps.clock.now() >= until) {
          deps.log.error('more is due than one run can mend', { shard, left: page.keys.length - at });
          counts.left += page.keys.length - at;
          break;
        }
        const mended = await Promise.all(page.keys.slice(at, at + atOnce).map((key) => mend(deps, key)));
        for (const kind of mended) if (kind !== undefined) counts[kind]++;
      }
    } while (cursor !== undefined && deps.clock.now() < until);
  }
}

/** An epoch where there is none, and the limits in force that are stored. While Redis is away, what is due is still sent. */
async function mendRedis(deps: Reconciling): Promise<void> {
  await attempted(deps, 'Redis was not looked after', async () => {
    await rebuild(deps);
    await enforceStored(deps);
    return 0;
  });
}

/** One duty that fails must not keep the others from theirs. */
async function attempted(deps: Reconciling, failure: string, duty: () => Promise<number>): Promise<number> {
  try {
    return await duty();
  } catch (error) {
    logFailure(deps.log, failure, error);
    return 0;
  }
}
