import type { Action } from './actor.ts';
import { attemptCommits, attemptStarted, taskExpires, taskWritten, workerCalledLost } from './invariants.ts';
import { most, times } from './times.ts';
import { catchUp, holds, isTerminal, type Status, type Task, type World } from './world.ts';

/** One action per read, conditional write or transaction; each happens whole or not at all. */
function op<Args, R>(
  name: string,
  apply: (world: World, args: Args) => R,
  more: { reads?: boolean } = {},
): Action<Args, R> {
  return { service: 'dynamo', name, apply, ...more };
}

function put(world: World, task: Task): void {
  const { tasks, unindexed } = world.dynamo;
  taskWritten(world, tasks.get(task.id), task);
  tasks.set(task.id, task);
  if (world.setup.indexLag === 0) catchUp(world, task.id);
  else if (!unindexed.has(task.id)) unindexed.set(task.id, world.now);
}

export type Written =
  | { readonly kind: 'written'; readonly task: Task }
  | { readonly kind: 'refused'; readonly task: Task | undefined };

/** "Every status write also checks the status it leaves." */
function change<Args extends { id: string }>(
  name: string,
  when: (task: Task, args: Args, world: World) => boolean,
  set: (task: Task, args: Args, world: World) => Partial<Task>,
  check?: (world: World, before: Task, after: Task, args: Args) => void,
): Action<Args, Written> {
  return op(name, (world, args): Written => {
    const before = world.dynamo.tasks.get(args.id);
    if (before === undefined || !when(before, args, world)) return { kind: 'refused', task: before };
    const after: Task = { ...before, ...set(before, args, world) };
    check?.(world, before, after, args);
    put(world, after);
    return { kind: 'written', task: after };
  });
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

type Start = { id: string; nonce: string; seen: number; now: number; lapses: number; epoch: number };

/** "start: status queued and attempt = seen → running, attempt + 1, holder, deadline." */
export const start = change(
  'start',
  (task, { seen, nonce }: Start, world) =>
    (task.status === 'queued' ||
      (task.status === 'running' && task.holder !== nonce && !holds(world, 'startChecksStatus'))) &&
    (task.attempt === seen || !holds(world, 'startChecksAttempt')),
  (_task, { nonce, seen, now, lapses, epoch }) => ({
    status: 'running',
    attempt: seen + 1,
    holder: nonce,
    deadline: now + times.handlerTimeout,
    dueAt: lapses,
    epoch,
  }),
  (world, _before, after) => attemptStarted(world, after),
);

export type Attempt = { id: string; nonce: string; attempt: number };

function running(task: Task, { attempt }: Attempt, world: World): boolean {
  const still = task.status === 'running' || !holds(world, 'finishChecksStatus');
  return still && (task.attempt === attempt || !holds(world, 'writesCheckAttempt'));
}

/** "finish: one conditional write (running and this attempt)." */
export const finish = change(
  'finish',
  running,
  (_task, { outcome, now }: Attempt & { outcome: 'succeeded' | 'failed'; now: number }) => ({
    status: outcome,
    finishedAt: now,
  }),
  (world, before, _after, { nonce }) => attemptCommits(world, before, nonce),
);

/** Whether `keep` answered `kept` before the write: only then is the seat promised. */
type Kept = { kept: boolean };

function promise(world: World, after: Task, { kept }: Kept): void {
  if (!kept) world.ghost.unseated.add(after.id);
}

/** Running → queued: for a retry (`failures`) or because its worker was lost (`lost`, "a budget of their own"). */
export const requeue = change(
  'requeue',
  (task, args: Attempt & Kept & { why: 'failures' | 'lost'; runAt: number }, world) =>
    task.status === 'running' && (task.attempt === args.attempt || !holds(world, 'writesCheckAttempt')),
  (task, { why, runAt }) => ({
    status: 'queued',
    [why]: task[why] + 1,
    runAt,
    dueAt: runAt,
    deadline: runAt + times.startWindow,
  }),
  (world, before, after, args) => {
    promise(world, after, args);
    if (args.why === 'lost') workerCalledLost(world, before);
  },
);

/** Running → failed: its worker was lost too often. */
export const giveUp = change(
  'giveUp',
  running,
  (task, { now }: Attempt & { now: number }) => ({ status: 'failed', lost: task.lost + 1, finishedAt: now }),
  (world, before) => workerCalledLost(world, before),
);

/** Running → waiting: asks a person. */
export const pause = change(
  'pause',
  (task, args: Attempt & Kept & { approval: string; decideBy: number }, world) =>
    task.status === 'running' && running(task, args, world),
  (_task, { approval, decideBy }) => ({ status: 'waiting', approval, deadline: decideBy, dueAt: decideBy }),
  (world, _before, after, args) => promise(world, after, args),
);

/** Waiting → queued. "approval names the approval it answers." */
export const resume = change(
  'resume',
  (task, { approval }: { id: string; approval: string; now: number } & Kept, world) =>
    (task.status === 'waiting' || (task.status === 'queued' && !holds(world, 'resumeChecksStatus'))) &&
    (task.approval === approval || !holds(world, 'approvalIsNamed')),
  (task, { now }) => ({
    status: 'queued',
    deadline: now + times.startWindow,
    runAt: now,
    dueAt: now,
    sends: task.sends + 1,
  }),
  (world, before, after, args) => {
    promise(world, after, args);
    if (before.approval !== args.approval)
      world.violation ??= { invariant: 'T', why: `${args.approval} answered ${before.approval}` };
  },
);

/** "cancel: one conditional write to cancelled from any open status." */
export const cancel = change(
  'cancel',
  (task, _: { id: string; now: number }, world) => !isTerminal(task) || !holds(world, 'cancelChecksOpen'),
  (_task, { now }) => ({ status: 'cancelled', finishedAt: now }),
);

/** Queued → expired, for the period of queueing whose deadline was seen to pass. */
export const expire = change(
  'expire',
  (task, { seen }: { id: string; seen: number; now: number }, world) =>
    task.status === 'queued' && (task.deadline === seen || !holds(world, 'expireChecksDeadline')),
  (_task, { now }) => ({ status: 'expired', finishedAt: now }),
  (world, before) => taskExpires(world, before),
);

/** "sends + 1 is written before sending by reconcile." */
export const countSend = change(
  'countSend',
  (task, { sends }: { id: string; sends: number }) => task.status === 'queued' && task.sends === sends,
  (task) => ({ sends: task.sends + 1 }),
);

/** "After success dueAt moves to now + re-send age, only if still queued with the same sends." */
export const markSent = change(
  'markSent',
  (task, { sends }: { id: string; sends: number; now: number }, world) =>
    !isTerminal(task) && ((task.status === 'queued' && task.sends === sends) || !holds(world, 'markChecksSends')),
  (_task, { now }) => ({ dueAt: now + times.resendAge }),
);

export const postpone = change(
  'postpone',
  (task, args: Attempt & { until: number }, world) => task.status === 'running' && running(task, args, world),
  (_task, { until }) => ({ dueAt: until }),
);

/** At the last permitted receive, and by `bury`. */
export const setDue = change(
  'setDue',
  (task, _: { id: string; now: number }) => task.status === 'queued',
  (_task, { now }) => ({ dueAt: now }),
);

/** "bury never changes a running or waiting task: a queued one is set due again, and failed at its third burial." */
export const bury = change(
  'bury',
  (task, { seen }: { id: string; seen: number; now: number }, world) =>
    (task.status === 'queued' || (!isTerminal(task) && !holds(world, 'buryOnlyQueued'))) && task.burials === seen,
  (task, { now }): Partial<Task> => {
    const last = task.burials + 1 >= most.burials;
    return { burials: task.burials + 1, dueAt: now, ...(last ? { status: 'failed' as Status, finishedAt: now } : {}) };
  },
);

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
