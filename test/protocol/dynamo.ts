import type { Action } from './actor.ts';
import { taskWritten } from './invariants.ts';
import { times } from './times.ts';
import { catchUp, holds, type Task, type World } from './world.ts';

/** One action per read, conditional write or transaction; each happens whole or not at all. */
export function op<Args, R>(
  name: string,
  apply: (world: World, args: Args) => R,
  more: { reads?: boolean } = {},
): Action<Args, R> {
  return { service: 'dynamo', name, apply, ...more };
}

export function put(world: World, task: Task): void {
  const { tasks, unindexed } = world.dynamo;
  taskWritten(world, tasks.get(task.id), task);
  tasks.set(task.id, task);
  if (world.setup.indexLag === 0) catchUp(world, task.id);
  else if (!unindexed.has(task.id)) unindexed.set(task.id, world.now);
}

export const read = op(
  'read',
  ({ dynamo, now }, { id }: { id: string }) => {
    const task = dynamo.tasks.get(id);
    return { kind: 'record' as const, task: task !== undefined && task.expiresAt > now ? task : undefined };
  },
  { reads: true },
);

export const readDedup = op(
  'readDedup',
  ({ dynamo, now }, { key }: { key: string }) => {
    const item = dynamo.dedup.get(key);
    return { kind: 'dedup' as const, task: item !== undefined && item.expiresAt > now ? item.task : undefined };
  },
  { reads: true },
);

type Create = { id: string; key: string; seen: string; token: string; deadline: number; now: number; epoch: number };

/**
 * "create is one transaction: put the task item if absent; put the dedup item if absent, past expiresAt, or still naming the task (taskId = :seen) that
 * this caller just read, consistently, as terminal and no longer reusable." Repeated with its token it has the effect of one.
 */
export const create = op('create', (world, { id, key, seen, token, deadline, now, epoch }: Create) => {
  const { tasks, dedup, tokens } = world.dynamo;
  const byToken = holds(world, 'createHasToken');
  if (byToken && tokens.has(token)) return { kind: 'created' as const };
  const item = dedup.get(key);
  // "Time alone never frees a dedup item: it lives as long as its task's record."
  const lapsed = item !== undefined && item.expiresAt <= world.now;
  const free = item === undefined || lapsed || item.task === seen || !holds(world, 'createChecksDedup');
  if (!free) return { kind: 'taken' as const, task: item.task };
  if (tasks.has(id)) return { kind: 'created' as const };
  const expiresAt = world.now + times.recordKept;
  const dedupExpiresAt = holds(world, 'timeNeverFreesDedup') ? expiresAt : world.now + times.reuse;
  const fresh = { status: 'queued', attempt: 0, failures: 0, lost: 0, burials: 0, holder: '', approval: '' } as const;
  put(world, {
    ...fresh,
    id,
    key,
    deadline,
    dueAt: now,
    runAt: now,
    sends: 1,
    epoch,
    finishedAt: 0,
    expiresAt,
    bornAt: world.now,
  });
  dedup.set(key, { task: id, expiresAt: dedupExpiresAt });
  tokens.add(token);
  return { kind: 'created' as const };
});

/** The open tasks that the index shows as due. */
export const due = op(
  'due',
  ({ dynamo }, { now }: { now: number }) => {
    const ids = [...dynamo.index].filter(([, dueAt]) => dueAt <= now).map(([id]) => id);
    return { kind: 'due' as const, ids };
  },
  { reads: true },
);

export const open = op('open', ({ dynamo }, _: object) => ({ kind: 'open' as const, ids: [...dynamo.index.keys()] }), {
  reads: true,
});

export const readSettings = op(
  'settings',
  ({ dynamo }, _: object) => ({ kind: 'settings' as const, ...dynamo.settings }),
  {
    reads: true,
  },
);

export const writeEpoch = op('writeEpoch', ({ dynamo }, { epoch, seen }: { epoch: number; seen: number }) => {
  if (dynamo.settings.epoch !== seen) return { kind: 'refused' as const };
  dynamo.settings = { ...dynamo.settings, epoch };
  return { kind: 'written' as const };
});

export const patchLimits = op('patchLimits', ({ dynamo }, { limits }: { limits: World['setup']['limits'] }) => {
  if (dynamo.settings.limits.version !== limits.version - 1) return { kind: 'refused' as const };
  dynamo.settings = { ...dynamo.settings, limits };
  return { kind: 'written' as const };
});
