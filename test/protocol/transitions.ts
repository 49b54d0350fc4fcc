import type { Action } from './actor.ts';
import { op, put } from './dynamo.ts';
import { attemptCommits, attemptStarted, taskBuried, taskExpires, workerCalledLost } from './invariants.ts';
import { most, times } from './times.ts';
import { holds, isTerminal, type Status, type Task, violate, type World } from './world.ts';

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

type Start = { id: string; nonce: string; seen: number; now: number; lapses: number; epoch: number };

/** "start: status queued and attempt = seen → running, attempt + 1, holder, deadline." */
export const start = change(
  'start',
  (task, { seen }: Start, world) =>
    (task.status === 'queued' || !holds(world, 'startChecksStatus')) &&
    (task.attempt === seen || !holds(world, 'startChecksAttempt')),
  (_task, { nonce, seen, now, lapses, epoch }) => ({
    status: 'running',
    attempt: seen + 1,
    holder: nonce,
    deadline: now + times.handlerTimeout,
    dueAt: lapses,
    epoch,
  }),
  (world, before, after) => attemptStarted(world, before, after),
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
    holder: '',
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
  (_task, { approval, decideBy }) => ({ status: 'waiting', holder: '', approval, deadline: decideBy, dueAt: decideBy }),
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
    if (before.approval !== args.approval) violate(world, 'T', `${args.approval} answered ${before.approval}`);
  },
);

/**
 * "cancel: one conditional write to cancelled from any open status." One that ran keeps its holder and its place in the index for a lease: its slot stays
 * until the handler has stopped, also where Redis loses its data and is rebuilt meanwhile.
 */
export const cancel = change(
  'cancel',
  (task, _: { id: string; now: number }, world) => !isTerminal(task) || !holds(world, 'cancelChecksOpen'),
  (task, { now }, world) => ({
    status: 'cancelled',
    finishedAt: now,
    holder: task.status === 'running' && holds(world, 'cancelledSlotIsRestored') ? task.holder : '',
    dueAt: now + times.lease,
  }),
);

/** A lease after its cancel nothing of the attempt is left. */
export const forgetHolder = change(
  'forgetHolder',
  (task, _: { id: string }) => task.status === 'cancelled',
  () => ({ holder: '' }),
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
  (world, before) => taskBuried(world, before),
);
