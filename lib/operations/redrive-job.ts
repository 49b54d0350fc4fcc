import type { TaskRecord } from '../domain/task-record.ts';
import { day, type EpochMs, second } from '../domain/time.ts';
import type { DeadFilter, RedriveJob } from '../ports.ts';
import { deadTasks } from './dead-letters.ts';
import { type RedriveDeps, redrive } from './redrive.ts';

export type RedriveRequest = {
  readonly filter: DeadFilter;
  readonly dryRun: boolean;
  /** New tasks a second, at most; limits may slow it down further. */
  readonly perSecond: number;
  readonly by: string;
};

/** Dead tasks that fit now. `complete` is false where there are more than could be counted in the time a request has. */
export type Matched = {
  readonly matched: number;
  readonly byApi: Readonly<Record<string, number>>;
  readonly byCode: Readonly<Record<string, number>>;
  readonly complete: boolean;
};
export type RedriveStarted =
  | ({ readonly kind: 'would_start' } & Matched)
  | ({ readonly kind: 'started'; readonly job: RedriveJob } & Matched)
  /** One is under way: another may begin when it is over, or stopped. */
  | { readonly kind: 'running'; readonly job: RedriveJob };

const countingMs = 6 * second;
/** Between two looks at a pool that had no room. */
const fullPauseMs = second;
const writeEvery = 25;

/** Begins a redrive, which reconcile then does; a dry run only counts. */
export async function startRedrive(deps: RedriveDeps, request: RedriveRequest): Promise<RedriveStarted> {
  const last = await deps.records.readRedrive();
  if (last?.status === 'running' && !request.dryRun) return { kind: 'running', job: last };
  const startedAt = deps.clock.now();
  const matched = await count(deps, request.filter, startedAt);
  if (request.dryRun) return { kind: 'would_start', ...matched };
  const job: RedriveJob = {
    id: deps.newNonce(),
    changes: 1,
    status: matched.matched === 0 && matched.complete ? 'done' : 'running',
    filter: request.filter,
    perSecond: request.perSecond,
    startedAt,
    startedBy: request.by,
    redriven: 0,
    joined: 0,
    refused: 0,
    held: 0,
  };
  if (!(await deps.records.writeRedrive(job, last))) {
    const other = await deps.records.readRedrive();
    if (other === undefined) throw new Error('expected the redrive that came first');
    return { kind: 'running', job: other };
  }
  deps.log.info('redrive', { by: job.startedBy, matched: matched.matched, perSecond: job.perSecond });
  await deps.messages.wakeReconcile().catch((error: unknown) => {
    deps.log.warn('reconcile was not woken', { reason: String(error) });
  });
  return { kind: 'started', job, ...matched };
}

/** Stops the redrive that is under way: what it has made stays. Undefined: there is none. */
export async function stopRedrive(deps: Pick<RedriveDeps, 'records' | 'clock'>): Promise<RedriveJob | undefined> {
  for (;;) {
    const job = await deps.records.readRedrive();
    if (job?.status !== 'running') return undefined;
    const stopped: RedriveJob = { ...job, changes: job.changes + 1, status: 'stopped', endedAt: deps.clock.now() };
    if (await deps.records.writeRedrive(stopped, job)) return stopped;
  }
}

async function count(deps: RedriveDeps, filter: DeadFilter, startedAt: EpochMs): Promise<Matched> {
  const byApi: Record<string, number> = {};
  const byCode: Record<string, number> = {};
  let matched = 0;
  const add = ({ api, error }: TaskRecord) => {
    const code = error?.code ?? 'none';
    matched++;
    byApi[api] = (byApi[api] ?? 0) + 1;
    byCode[code] = (byCode[code] ?? 0) + 1;
  };
  for await (const page of deadTasks(deps, filter)) {
    page.forEach(add);
    if (deps.clock.now() - startedAt > countingMs) return { matched, byApi, byCode, complete: false };
  }
  return { matched, byApi, byCode, complete: true };
}

/**
 * Goes on with the redrive that is under way until `until`, at its pace; tasks that died after it began are left alone. It is over once a whole pass found
 * none that could still be redriven, or after a day. Every step is safe to repeat, so a run that dies, or two at once, do no task twice. Answers how many
 * were redriven.
 */
export async function continueRedrive(deps: RedriveDeps, until: EpochMs): Promise<number> {
  const job = await deps.records.readRedrive();
  if (job?.status !== 'running') return 0;
  const run = new Run(deps, job, until);
  await run.go();
  return run.redriven;
}

class Run {
  redriven = 0;
  readonly #deps: RedriveDeps;
  readonly #until: EpochMs;
  /** Pools that had no room, and until when they are left alone. */
  readonly #full = new Map<string, number>();
  #job: RedriveJob;
  #unwritten = 0;
  #nextAt: number;

  constructor(deps: RedriveDeps, job: RedriveJob, until: EpochMs) {
    this.#deps = deps;
    this.#job = job;
    this.#until = until;
    this.#nextAt = deps.clock.now();
  }

  async go(): Promise<void> {
    const { clock } = this.#deps;
    for (;;) {
      const pass = await this.#pass();
      if (pass === 'over') return void (await this.#write({}));
      const isOld = clock.now() - this.#job.startedAt > day;
      const ended = pass.held === 0 ? ('done' as const) : isOld ? ('stopped' as const) : undefined;
      const counts = { refused: pass.refused, held: pass.held };
      if (ended !== undefined) return void (await this.#write({ ...counts, status: ended, endedAt: clock.now() }));
      if (!(await this.#write(counts)) || clock.now() + fullPauseMs >= this.#until) return;
      await clock.sleep(fullPauseMs);
    }
  }

  /** Every dead task that fits, once. `over`: the time is, or somebody else changed the redrive. */
  async #pass(): Promise<'over' | { refused: number; held: number }> {
    const { filter, startedAt } = this.#job;
    const before = Math.min(filter.before ?? Number.POSITIVE_INFINITY, startedAt + 1) as EpochMs;
    const counts = { refused: 0, held: 0 };
    for await (const page of deadTasks(this.#deps, { ...filter, before })) {
      for (const dead of page) {
        const kind = await this.#one(dead);
        if (kind === 'over') return kind;
        if (kind !== 'done') counts[kind]++;
      }
    }
    return counts;
  }

  async #one(dead: TaskRecord): Promise<'over' | 'refused' | 'held' | 'done'> {
    const { clock, weir } = this.#deps;
    const pool = weir.tasks[dead.api]?.pool ?? '';
    if ((this.#full.get(pool) ?? 0) > clock.now()) return 'held';
    if (!(await this.#pace())) return 'over';
    const { kind } = await redrive(this.#deps, dead);
    switch (kind) {
      case 'full':
        this.#full.set(pool, clock.now() + fullPauseMs);
        return 'held';
      case 'refused':
      case 'held':
        return kind;
      case 'gone':
        return 'done';
      case 'redriven':
        this.redriven++;
        this.#job = { ...this.#job, redriven: this.#job.redriven + 1 };
        break;
      case 'joined':
        this.#job = { ...this.#job, joined: this.#job.joined + 1 };
        break;
    }
    this.#unwritten++;
    return this.#unwritten >= writeEvery && !(await this.#write({})) ? 'over' : 'done';
  }

  async #pace(): Promise<boolean> {
    const now = this.#deps.clock.now();
    if (Math.max(now, this.#nextAt) >= this.#until) return false;
    if (this.#nextAt > now) await this.#deps.clock.sleep(this.#nextAt - now);
    this.#nextAt = Math.max(now, this.#nextAt) + second / this.#job.perSecond;
    return true;
  }

  /** False: it was stopped, or another run goes on with it. */
  async #write(change: Partial<RedriveJob>): Promise<boolean> {
    const next: RedriveJob = { ...this.#job, ...change, changes: this.#job.changes + 1 };
    const written = await this.#deps.records.writeRedrive(next, this.#job);
    if (written) this.#job = next;
    this.#unwritten = 0;
    return written;
  }
}
