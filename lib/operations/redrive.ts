import type { AdmitReply } from '../domain/gate-replies.ts';
import { createDeadlineMs } from '../domain/protocol.ts';
import type { TaskId } from '../domain/task-id.ts';
import { judge, justAdmitted, type TaskRecord } from '../domain/task-record.ts';
import { tiersOf } from '../domain/tiers.ts';
import { addMs, type EpochMs } from '../domain/time.ts';
import { type Claim, Unavailable } from '../ports.ts';
import { sendFirst } from './create.ts';
import type { Deps } from './deps.ts';
import { outlives, undoAdmission } from './release.ts';

export type RedriveDeps = Pick<
  Deps,
  'weir' | 'gate' | 'records' | 'messages' | 'clock' | 'log' | 'newId' | 'metrics' | 'newNonce'
>;

/**
 * What became of one dead task.
 *
 * - `redriven`  a new task does it again, with a new budget
 * - `joined`    another task, posted since, answers the same request
 * - `gone`      it is no dead letter any more
 * - `refused`   its api is gone, no limit could hold it, or its files will be gone before it could end: it stays a dead letter
 * - `held`      a limit of its api or its client is full, or its request is being posted: worth another try later
 * - `full`      its pool is full or paused, or Redis is being rebuilt: nothing of it can be redriven now
 */
export type Redriving = { readonly kind: 'redriven' | 'joined' | 'gone' | 'refused' | 'held' | 'full' };

/** For the task that is named by the dedup key, and once more for one that took its place meanwhile. */
const mostRounds = 3;

/**
 * Does a dead task again as a new one, through admission like any post. One transaction makes the new task, has the dedup key name it, and takes the
 * dead one off the dead letters: done twice, it does nothing more.
 */
export async function redrive(deps: RedriveDeps, dead: TaskRecord): Promise<Redriving> {
  const task = deps.weir.tasks[dead.api];
  if (task === undefined) return { kind: 'refused' };
  // Where its api is now: since it died the pool and the permits may have changed.
  const ip = dead.tiers.find(({ tier }) => tier === 'ip')?.name ?? '';
  const tiers = tiersOf({ pool: task.pool, api: dead.api, tenant: dead.tenant, ip });
  const claim = { tenant: dead.tenant, id: deps.newId(), tiers, permits: task.permits };
  const begunAt = deps.clock.now();
  const filesUntil = lastOf(dead.files);
  if (filesUntil !== undefined && !outlives({ expiresAt: filesUntil }, addMs(begunAt, deps.weir.times.startWindowMs))) {
    return { kind: 'refused' };
  }
  let seen = (await deps.records.readDedup(dead.dedupKey))?.taskId;
  for (let round = 1; round <= mostRounds; round++) {
    const other = await answering(deps, dead, seen);
    if (other !== undefined) {
      const marked = await deps.records.markRedriven(dead, other);
      return { kind: marked.kind === 'written' ? 'joined' : 'gone' };
    }
    const { dedupKey, fingerprint } = dead;
    const reply = await deps.gate.admit({ ...claim, dedupKey, fingerprint, replaces: seen ?? dead.id });
    switch (reply.kind) {
      case 'admitted': {
        const record = again(dead, task.pool, claim, reply, deps.weir.times.keepMs);
        const made = await make(deps, record, { dead: dead.id, seen, deadline: addMs(begunAt, createDeadlineMs) });
        if (made.kind !== 'taken') return made;
        seen = made.taskId;
        break;
      }
      case 'duplicate':
        if (reply.creating) return { kind: 'held' };
        seen = reply.taskId;
        break;
      case 'rejected': {
        const short = reply.tiers[reply.short];
        // A closed api takes nothing however long one waits.
        if (short?.tier !== 'pool' && short?.inSystem.limit === 0) return { kind: 'refused' };
        return { kind: short?.tier === 'pool' ? 'full' : 'held' };
      }
      case 'never':
      // An operator's repeat is nobody's request: it asks nothing of rate rules.
      case 'rate_limited':
      case 'too_costly':
        return { kind: 'refused' };
      case 'behind':
      case 'paused':
      case 'rebuilding':
      case 'stale':
        return { kind: 'full' };
    }
  }
  return { kind: 'held' };
}

/** The task that the dedup key names, where it is another one and answers the request. */
async function answering(deps: RedriveDeps, dead: TaskRecord, named: TaskId | undefined): Promise<TaskId | undefined> {
  if (named === undefined || named === dead.id) return undefined;
  const record = await deps.records.read({ tenant: dead.tenant, id: named });
  return record !== undefined && judge(record, deps.clock.now()).kind !== 'replaceable' ? record.id : undefined;
}

/** What was asked, as new. */
function again(
  dead: TaskRecord,
  pool: string,
  { id, permits, tiers }: Claim,
  reply: Extract<AdmitReply, { kind: 'admitted' }>,
  keepMs: number,
): TaskRecord {
  const { tenant, api, input, inputDigest, files, dedupKey, fingerprint, reuseMs } = dead;
  return {
    ...{ tenant, id, api, pool, permits, tiers, input, inputDigest, files, dedupKey, fingerprint, reuseMs },
    ...justAdmitted(reply),
    // A record never outlasts its files.
    expiresAt: Math.min(addMs(reply.now, keepMs), lastOf(files) ?? Number.POSITIVE_INFINITY) as EpochMs,
    callbackUrl: dead.callbackUrl,
    redriveOf: dead.id,
  };
}

/** Until when all of them are kept; undefined where nothing is said. */
function lastOf(files: TaskRecord['files']): EpochMs | undefined {
  const ends = files.flatMap(({ keptUntil }) => keptUntil ?? []);
  return ends.length === 0 ? undefined : (Math.min(...ends) as EpochMs);
}

async function make(
  deps: RedriveDeps,
  record: TaskRecord,
  options: Parameters<Deps['records']['redrive']>[1],
): Promise<Redriving | { kind: 'taken'; taskId: TaskId }> {
  try {
    const made = await deps.records.redrive(record, options);
    if (made.kind === 'created') {
      await sendFirst(deps, record);
      return { kind: 'redriven' };
    }
    await undoAdmission(deps, record, record.dedupKey);
    return made.kind === 'gone' ? made : { kind: 'taken', taskId: made.taskId };
  } catch (error) {
    // After an unknown outcome nothing is given back: a late write must find its seat.
    if (!(error instanceof Unavailable)) await undoAdmission(deps, record, record.dedupKey).catch(() => undefined);
    throw error;
  }
}
