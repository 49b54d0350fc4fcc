import type { Task } from '../config.ts';
import { type Eta, eta, mostAhead } from '../domain/eta.ts';
import { retryAfterMs, seatEveryMs } from '../domain/retry-after.ts';
import { type TaskTime, taskTime } from '../domain/service-times.ts';
import type { Tier, TierUse } from '../domain/tiers.ts';
import { second } from '../domain/time.ts';
import type { Clock, Gate } from '../ports.ts';

/** When a waiting task is expected to start: its place among those that wait in its pool (1 = next), and the time by its slowest tier. */
export type Expectation = { readonly position: number; readonly eta: Eta };

/** What is known of a pool and an api. */
type Known = { readonly pool: TaskTime; readonly api: TaskTime };

const freshMs = 2 * second;
const mostKept = 1_000;

/** Reads what was learnt about service time and tells from it; what it read is good for two seconds, so that a decision seldom waits for it. */
export class Outlook {
  readonly #gate: Pick<Gate, 'times' | 'refuse' | 'observe'>;
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly until: number; readonly known: Promise<Known> }>();

  constructor({ gate, clock }: { gate: Pick<Gate, 'times' | 'refuse' | 'observe'>; clock: Clock }) {
    this.#gate = gate;
    this.#clock = clock;
  }

  /**
   * For a task that waits last of those these uses count, or behind `ahead` others of its pool. Uses count permits; other tasks are taken to ask as many as
   * this one, so in a pool where they differ a place told without `ahead` is a guess. Throws `Unavailable`.
   */
  async expect(task: Task, tiers: readonly TierUse[], ahead?: number): Promise<Expectation> {
    const known = await this.#known(task);
    const waiting = (use: TierUse) => Math.max(1, use.inSystem.inUse - tasksOf(use.running.inUse, task));
    const pool = tiers.find(({ tier }) => tier === 'pool');
    const position = ahead === undefined ? (pool === undefined ? 1 : waiting(pool)) : ahead + 1;
    const etas = tiers.flatMap((use): Eta[] => {
      if (use.running.limit === undefined) return [];
      const place = use.tier === 'pool' ? position : Math.min(position, waiting(use));
      const line = { position: place, ...serversOf(use.running.limit, use.running.inUse, task) };
      return [eta(use.tier === 'api' ? known.api : known.pool, line)];
    });
    return { position, eta: etas.reduce(later, { kind: known.pool.kind, p50: 0, p90: 0 }) };
  }

  /** When a client that this tier refused should come back. Counts the refusal, so that clients refused together come back one after the other. */
  async retryAfterMs(task: Task, full: TierUse, pool: TierUse | undefined, client: string): Promise<number> {
    const known = await this.#known(task);
    const time = full.tier === 'api' ? known.api : known.pool;
    const { running } = serversOf(full.running.limit ?? pool?.running.limit ?? 1, 0, task);
    const { k } = await this.#gate.refuse({ tier: full, everyMs: seatEveryMs(time, running) });
    return retryAfterMs(time, { k, running, client });
  }

  /**
   * The most tasks of the pool that may wait before one that must start within `maxWaitMs`; −1: it cannot, also because a narrower tier would let it start
   * later than that.
   */
  async mostAhead(task: Task, tiers: readonly Tier[], maxWaitMs: number): Promise<number> {
    const [known, seen] = await Promise.all([this.#known(task), this.#gate.observe({ tiers })]);
    let most = Number.MAX_SAFE_INTEGER;
    for (const { tier, inSystem, tasksRunning, running } of seen.tiers) {
      if (running.limit === undefined) continue;
      const time = tier === 'api' ? known.api : known.pool;
      const ahead =
        mostAhead(time, { ...serversOf(running.limit, running.inUse, task), inUse: tasksRunning }, maxWaitMs) - 1;
      if (tier === 'pool') most = ahead;
      else if (inSystem.inUse - tasksRunning > ahead) return -1;
    }
    return most;
  }

  #known(task: Task): Promise<Known> {
    const now = this.#clock.now();
    const kept = this.#kept.get(task.api);
    if (kept !== undefined && kept.until > now) return kept.known;
    if (this.#kept.size >= mostKept) this.#kept.clear();
    const known = this.#read(task);
    this.#kept.set(task.api, { until: now + freshMs, known });
    known.catch(() => this.#kept.delete(task.api));
    return known;
  }

  async #read({ api, pool, timeoutMs }: Task): Promise<Known> {
    const [ofPool, ofApi] = await this.#gate.times([
      { tier: 'pool', name: pool },
      { tier: 'api', name: api },
    ]);
    if (ofPool === undefined || ofApi === undefined) throw new Error('expected the times of two tiers');
    return { pool: taskTime(ofPool.times, timeoutMs), api: taskTime(ofApi.times, timeoutMs) };
  }
}

/** Tasks that hold this many permits, each as many as this one. */
function tasksOf(permits: number, task: Task): number {
  return Math.ceil(permits / task.permits);
}

/** A tier's slots as places for tasks of this one's size. */
function serversOf(limit: number, inUse: number, task: Task): { readonly running: number; readonly inUse: number } {
  return { running: Math.floor(limit / task.permits), inUse: tasksOf(inUse, task) };
}

/** A task starts when its slowest tier lets it; of what cannot be told nothing can be told. */
function later(one: Eta, other: Eta): Eta {
  if (one.kind === 'unknown' || other.kind === 'unknown') return { kind: 'unknown' };
  return other.p90 > one.p90 ? other : one;
}
