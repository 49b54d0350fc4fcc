import { checkLeases } from './check-leases.ts';
import type { Cancels, Promised } from './client.ts';
import type { Snapshot, StoredTask } from './snapshot.ts';
import { type Accepted, type Creation, isEnd } from './witness.ts';

/** Something that may never be. `task`: whose history tells more. */
export type Finding = { readonly kind: string; readonly what: string; readonly task?: string | undefined };

/** What is known at the end of a campaign, when the load is over and every task has had its time. */
export type Evidence = {
  readonly snapshot: Snapshot;
  readonly promised: Promised;
  readonly cancels: Cancels;
  readonly accepted: ReadonlyMap<string, readonly Accepted[]>;
  readonly creations: ReadonlyMap<string, readonly Creation[]>;
  readonly broken: readonly { readonly task: string; readonly what: string }[];
};

/** `explained`: what is not as it should be at last but may be so for now, a line for each kind. */
export type Verdict = { readonly findings: readonly Finding[]; readonly explained: readonly string[] };

/** How a task may fail in a load whose handlers fail once at most: its workers were taken from it too often. */
const fairFailure = 'worker_lost';

/** Judges the stores against what clients were promised and what functions were answered. It shares no code with what it judges. */
export function check(evidence: Evidence): Verdict {
  const { snapshot, promised, cancels, accepted, creations, broken } = evidence;
  const tasks = new Map(snapshot.tasks.map((task) => [task.id, task]));
  const leases = checkLeases(snapshot, tasks);
  const findings = [
    ...checkPromises(promised, tasks),
    ...snapshot.tasks.flatMap((task) => checkEnd(task, cancels.get(task.id))),
    ...snapshot.tasks
      .filter(({ id }) => !accepted.has(id))
      .map(({ id }) => ({ kind: 'unseen', task: id, what: `no proxy saw a write of ${id}: functions talk past them` })),
    ...[...accepted].flatMap(([id, writes]) => checkWrites(id, writes, tasks.get(id))),
    ...checkTags(snapshot.tasks),
    ...[...creations].flatMap(([key, made]) => checkCreations(key, made, accepted)),
    ...broken.map(({ task, what }) => ({ kind: 'fence broken', task, what })),
    ...leases.findings,
    ...Object.entries(snapshot.deadLetters)
      .filter(([, count]) => count > 0)
      .map(([queue, count]) => ({ kind: 'dead letter', what: `${count} in ${queue}` })),
  ];
  const lost = snapshot.tasks.filter((task) => task.status === 'failed' && task.error?.code === fairFailure).length;
  const explained =
    lost === 0 ? [] : [`${lost} tasks failed as ${fairFailure}: more workers were taken from them than they may lose`];
  return { findings, explained: [...explained, ...leases.explained] };
}

function checkPromises(promised: Promised, tasks: ReadonlyMap<string, StoredTask>): Finding[] {
  return [...promised].flatMap(([id, { tag }]) => {
    const task = tasks.get(id);
    if (task === undefined)
      return [{ kind: 'lost', task: id, what: `a client was given ${id}, of which there is no record` }];
    if (task.tag === tag) return [];
    return [{ kind: 'wrong task', task: id, what: `a client was given ${id} for ${tag}, it is of ${task.tag}` }];
  });
}

function checkEnd({ id, status, attempt, error }: StoredTask, cancel: string | undefined): Finding[] {
  const wrong = (kind: string, what: string): Finding[] => [{ kind, task: id, what: `${id} ${what}` }];
  if (!isEnd(status)) return wrong('not ended', `is ${status}, attempt ${attempt}`);
  if (cancel === 'cancelled' && status !== 'cancelled')
    return wrong('wrong answer', `was told to be cancelled, and is ${status}`);
  if (cancel === 'finished' && status === 'cancelled')
    return wrong('wrong answer', 'was told to have finished, and is cancelled');
  const isFair = status === 'cancelled' ? cancel !== undefined : status === 'failed' && error?.code === fairFailure;
  return status === 'succeeded' || isFair
    ? []
    : wrong('wrong end', `is ${status} ${error?.code ?? ''} for no reason the campaign gave`);
}

/** The writes DynamoDB accepted, in the order of the revisions they made. */
function checkWrites(id: string, accepted: readonly Accepted[], task: StoredTask | undefined): Finding[] {
  const writes = accepted.toSorted((one, other) => one.revision - other.revision);
  const ends = writes.filter(({ status }) => isEnd(status));
  const findings: Finding[] = [];
  const found = (kind: string, what: string) => findings.push({ kind, task: id, what: `${id}: ${what}` });
  if (ends.length > 1) found('doubled outcome', `${ends.length} ends were accepted: ${ends.map(told).join(', ')}`);
  for (const [index, write] of writes.entries()) {
    const before = writes[index - 1];
    if (before === undefined) continue;
    if (before.revision === write.revision) found('doubled write', `${told(before)} and ${told(write)}`);
    if (isEnd(before.status)) found('changed after its end', `${told(write)} was accepted after ${told(before)}`);
    if (write.attempt < before.attempt) found('attempt fell', `${told(write)} was accepted after ${told(before)}`);
  }
  const last = writes.at(-1);
  if (last === undefined) return findings;
  if (task === undefined) found('lost', `${told(last)} was accepted, and there is no record`);
  else if (task.revision < last.revision || (isEnd(last.status) && task.status !== last.status))
    found('lost write', `${told(last)} was accepted, and the record is ${task.status} at revision ${task.revision}`);
  return findings;
}

function told({ write, status, attempt, revision }: Accepted): string {
  return `${write} (${status}, attempt ${attempt}, revision ${revision})`;
}

/** A tag is one effect: accepted at most once, also where its first task failed and it was asked for again. */
function checkTags(tasks: readonly StoredTask[]): Finding[] {
  const succeeded = Map.groupBy(
    tasks.filter(({ status }) => status === 'succeeded'),
    ({ tag }) => tag,
  );
  return [...succeeded]
    .filter(([, made]) => made.length > 1)
    .map(([tag, made]) => ({
      kind: 'doubled outcome',
      task: made[0]?.id,
      what: `${tag} succeeded as ${made.map(({ id }) => id).join(' and ')}`,
    }));
}

/** A dedup key's next task is created after the one before has ended. Where no reply told of that end there is nothing to compare. */
function checkCreations(key: string, made: readonly Creation[], accepted: Evidence['accepted']): Finding[] {
  return made.slice(1).flatMap(({ id, at }, index) => {
    const before = made[index];
    const end = accepted.get(before?.id ?? '')?.find(({ status }) => isEnd(status));
    if (end === undefined || end.at <= at) return [];
    return [{ kind: 'two live tasks', task: id, what: `${key}: ${id} was created before ${before?.id} ended` }];
  });
}
