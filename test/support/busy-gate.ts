import { randomUUID } from 'node:crypto';
import type { Tier } from '../../lib/domain/tiers.ts';
import { addMs, hour, toEpochMs } from '../../lib/domain/time.ts';
import type { AcquireInput, Claim, Gate } from '../../lib/ports.ts';
import { ask, newTaskId, tiersFor } from './gate.ts';

type Task = Claim & { readonly dedupKey: string };
type Attempt = Task & AcquireInput & { readonly begun: number; lapses: number };
/** How long a client knows that an attempt held its permits: from the answer to the call that gave them back, or to their end. */
export type Held = { readonly from: number; readonly to: number; readonly permits: number };

/** Numbers in 0..1 from a seed, so that a run can be repeated. */
export function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A client that does whatever comes to its mind: admits, acquires for old tasks and new, extends, gives back, lets leases lapse. It counts on its own
 * what it was granted.
 */
export class BusyClient {
  readonly held: Held[] = [];
  readonly counts: Record<string, number> = {};
  readonly #gate: Gate;
  readonly #roll: () => number;
  readonly #tasks: Task[] = [];
  readonly #attempts: Attempt[] = [];
  #calls = 0;

  constructor(gate: Gate, seed: number) {
    this.#gate = gate;
    this.#roll = dice(seed);
  }

  /** One step; how many calls it made. */
  async act(): Promise<number> {
    const before = this.#calls;
    const roll = this.#roll();
    if (roll < 0.3) await this.#admit();
    else if (roll < 0.55) await this.#acquire();
    else if (roll < 0.65) await this.#extend();
    else if (roll < 0.85) await this.#end();
    else if (roll < 0.97) await this.#expire();
    else await this.#forget();
    return this.#calls - before;
  }

  async #admit(): Promise<void> {
    const permits = this.#roll() < 0.2 ? 2 : 1;
    const asked = ask({ tiers: this.#tiers(), permits });
    const reply = await this.#gate.admit(asked);
    this.#count(`admit ${reply.kind}`);
    if (reply.kind !== 'admitted') return;
    this.#tasks.push(asked);
    // Another takes the place of a task that ended badly, with its seat.
    if (this.#roll() > 0.1) return;
    const next = { ...asked, id: newTaskId() };
    const replaced = await this.#gate.admit({ ...next, replaces: asked.id });
    this.#count(`replace ${replaced.kind}`);
    if (replaced.kind === 'admitted') this.#tasks.splice(-1, 1, next);
  }

  async #acquire(): Promise<void> {
    const task = this.#tasks[Math.floor(this.#roll() * this.#tasks.length)];
    if (task === undefined) return;
    const leaseMs = this.#roll() < 0.3 ? 10 : 100;
    const deadline = addMs(toEpochMs(Date.now()), hour);
    const input = { ...task, nonce: randomUUID(), attempt: 1, leaseMs, deadline, seatMs: 2 * leaseMs, epoch: 1 };
    const reply = await this.#gate.acquire(input);
    this.#count(`acquire ${reply.kind}`);
    if (reply.kind === 'acquired') this.#attempts.push({ ...input, begun: Date.now(), lapses: reply.lapses });
  }

  async #extend(): Promise<void> {
    const attempt = this.#attempts[Math.floor(this.#roll() * this.#attempts.length)];
    if (attempt === undefined) return;
    const reply = await this.#gate.extend(attempt);
    this.#count(`extend ${reply.kind}`);
    if (reply.kind === 'extended' || reply.kind === 'seatless') attempt.lapses = reply.lapses;
  }

  async #end(): Promise<void> {
    const [attempt] = this.#attempts.splice(Math.floor(this.#roll() * this.#attempts.length), 1);
    if (attempt === undefined) return;
    this.#note(attempt);
    const isOver = this.#roll() < 0.8;
    const reply = await this.#gate.release({ ...attempt, ...(isOver ? { ended: { pointerMs: 0 } } : {}) });
    this.#count(`release ${reply.kind}`);
    if (isOver) this.#drop(attempt);
  }

  /** A task that never ran ends: its seat goes. */
  async #expire(): Promise<void> {
    const waiting = this.#tasks.filter((task) => !this.#attempts.some(({ id }) => id === task.id));
    const [task] = waiting;
    if (task === undefined) return;
    const { kind } = await this.#gate.release({ ...task, ended: { pointerMs: 0 } });
    this.#count(`expire ${kind}`);
    this.#drop(task);
  }

  /** A crash: nobody gives back what this attempt holds. Or a cancelled task: its seat goes, its slots stay for now. */
  async #forget(): Promise<void> {
    const [attempt] = this.#attempts.slice(-1);
    if (attempt === undefined) return;
    if (this.#roll() < 0.5) {
      this.#note(attempt);
      this.#attempts.pop();
      this.#drop(attempt);
      return;
    }
    await this.#gate.release({ ...attempt, nonce: undefined, ended: { pointerMs: 0 } });
    this.#count('cancel');
  }

  #note({ begun, lapses, permits }: Attempt): void {
    this.held.push({ from: begun, to: Math.min(Date.now(), lapses), permits });
  }

  #drop({ id }: Task): void {
    const at = this.#tasks.findIndex((task) => task.id === id);
    if (at >= 0) this.#tasks.splice(at, 1);
  }

  #tiers(): Tier[] {
    const client = Math.floor(this.#roll() * 5);
    return tiersFor({
      ip: `192.0.2.${client}`,
      tenant: this.#roll() < 0.5 ? 't' : 'u',
      api: client < 2 ? 'g/a' : 'g/b',
    });
  }

  #count(what: string): void {
    this.#calls++;
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

/** The most permits that were held at one moment. */
export function mostAtOnce(held: readonly Held[]): number {
  const steps = held
    .filter(({ from, to }) => to > from)
    .flatMap(({ from, to, permits }) => [
      { at: from, by: permits },
      { at: to, by: -permits },
    ])
    .sort((one, other) => one.at - other.at || one.by - other.by);
  let now = 0;
  return Math.max(
    0,
    ...steps.map(({ by }) => {
      now += by;
      return now;
    }),
  );
}
