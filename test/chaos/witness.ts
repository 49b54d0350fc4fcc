import { History } from './history.ts';
import { LeaseWitness } from './lease-witness.ts';
import type { Call, Connection, Owner, Reply, Standing } from './proxy/call.ts';
import { unknownScript } from './proxy/redis-call.ts';

/** A write that DynamoDB accepted, as its reply told. */
export type Accepted = Standing & { readonly write: string; readonly at: number };
export type Creation = { readonly id: string; readonly at: number };

/** Writes that count up the record's revision while the task is open, or end it. */
const counted: ReadonlySet<string> = new Set([
  'create',
  'start',
  'progress',
  'finish',
  'requeue',
  'expired',
  'cancelled',
]);
/** Writes that move its `dueAt` or count, and only of open tasks. What looks after an ended one is in neither. */
const uncounted: ReadonlySet<string> = new Set(['countSend', 'markSent', 'postpone', 'setDue', 'bury']);
const ofAttempts: ReadonlySet<string> = new Set(['progress', 'finish', 'requeue']);
const lateWrites: ReadonlySet<string> = new Set(['start', 'progress', 'finish', 'requeue']);
const ends: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'expired']);

export function isEnd(status: string): boolean {
  return ends.has(status);
}

/** Keeps what every function was answered. It believes replies alone: what a killed service answered nobody is not known to it. */
export class Witness {
  readonly history = new History();
  readonly leases = new LeaseWitness();
  /** By task, the accepted writes that count revisions. */
  readonly accepted = new Map<string, Accepted[]>();
  /** By dedup key, in the order of their replies. */
  readonly creations = new Map<string, Creation[]>();
  /** Writes and calls of attempts that were no longer in force, refused, by what they were. */
  readonly refusedLate = new Map<string, number>();
  /** What may never be, in one line each, by task. */
  readonly broken: { readonly task: string; readonly what: string }[] = [];
  /** Calls of scripts that no point and no check would know. */
  unknownScripts = 0;
  /** By task and attempt, the process that started it. */
  readonly #starters = new Map<string, number>();
  readonly #ended = new Map<string, Standing>();
  readonly #waiting = { end: new Map<string, (() => void)[]>(), start: new Map<string, (() => void)[]>() };

  sawRequest(call: Call): void {
    this.leases.sawRequest(call);
  }

  sawReply(call: Call, reply: Reply, connection: Connection): void {
    if (call.name === unknownScript) this.unknownScripts++;
    if (call.taskId === undefined) return;
    const owner = connection.owner();
    // Clients' and the status page's readings would hide the rest.
    if (call.name !== 'peek' && (call.name !== 'read' || owner?.kind === 'work')) this.history.saw(call, reply, owner);
    if (call.service === 'redis') this.#sawLease(call, reply, call.taskId, owner);
    if (call.service === 'dynamodb') this.#sawRecord(call, reply, call.taskId, owner);
  }

  /** How the task ended, as far as any reply told. */
  endOf(task: string): Standing | undefined {
    return this.#ended.get(task);
  }

  /** Resolves when the task has ended. */
  untilEnd(task: string): Promise<void> {
    return this.#ended.has(task) ? Promise.resolve() : this.#until('end', task);
  }

  /** Resolves when the next attempt of the task has started. */
  untilStart(task: string): Promise<void> {
    return this.#until('start', task);
  }

  #until(what: 'end' | 'start', task: string): Promise<void> {
    const waiting = this.#waiting[what];
    return new Promise((resolve) => {
      waiting.set(task, [...(waiting.get(task) ?? []), resolve]);
    });
  }

  #tell(what: 'end' | 'start', task: string): void {
    const waiting = this.#waiting[what].get(task) ?? [];
    this.#waiting[what].delete(task);
    for (const resolve of waiting) resolve();
  }

  #sawLease(call: Call, reply: Reply, task: string, owner: Owner | undefined): void {
    const what = this.leases.sawReply(call, reply, owner);
    if (what !== undefined) this.broken.push({ task, what });
    if (owner?.kind !== 'work' || call.nonce === undefined) return;
    if (call.name === 'extend' && reply.kind === 'lost') this.#count('heartbeat: lost');
    if (call.name === 'release' && reply.kind === 'gone') this.#count('release: gone');
  }

  #sawRecord(call: Call, reply: Reply, task: string, owner: Owner | undefined): void {
    const { standing } = reply;
    if (reply.kind === 'refused' && owner?.kind === 'work' && lateWrites.has(call.name))
      this.#count(`${call.name}: refused`);
    if (standing !== undefined && isEnd(standing.status)) this.#end(task, standing);
    if (reply.kind !== 'ok') return;
    if (call.name === 'create') {
      if (call.dedupKey !== undefined) this.#created(call.dedupKey, task);
      this.#accept(task, { status: 'queued', attempt: 0, revision: 1 }, call.name);
    } else if (standing !== undefined && counted.has(call.name)) {
      this.#judgeWriter(call.name, task, standing, owner);
      this.#accept(task, standing, call.name);
    }
    if (standing !== undefined && uncounted.has(call.name) && isEnd(standing.status))
      this.broken.push({ task, what: `${call.name} was accepted after the end (${standing.status})` });
  }

  /** Only the worker that started an attempt may write for it; reconcile may, but never reports progress. */
  #judgeWriter(write: string, task: string, { attempt }: Standing, owner: Owner | undefined): void {
    const key = `${task} ${attempt}`;
    if (owner?.kind !== 'work') return;
    if (write === 'start') this.#starters.set(key, owner.pid);
    const starter = this.#starters.get(key);
    if (ofAttempts.has(write) && starter !== undefined && starter !== owner.pid)
      this.broken.push({
        task,
        what: `${write} of attempt ${attempt}, started by ${starter}, was accepted from ${owner.pid}`,
      });
  }

  #created(dedupKey: string, id: string): void {
    const made = this.creations.get(dedupKey) ?? [];
    if (!made.some((each) => each.id === id)) made.push({ id, at: Date.now() });
    this.creations.set(dedupKey, made);
  }

  #accept(task: string, standing: Standing, write: string): void {
    const writes = this.accepted.get(task) ?? [];
    // A transaction that is repeated with its client token is answered twice.
    if (write === 'create' && writes.some((each) => each.write === 'create')) return;
    writes.push({ ...standing, write, at: Date.now() });
    this.accepted.set(task, writes);
    if (write === 'start') this.#tell('start', task);
  }

  #end(task: string, standing: Standing): void {
    if (this.#ended.has(task)) return;
    this.#ended.set(task, standing);
    this.#tell('end', task);
  }

  #count(what: string): void {
    this.refusedLate.set(what, (this.refusedLate.get(what) ?? 0) + 1);
  }
}
