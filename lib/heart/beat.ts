import { monotonicMs } from '../operations/heartbeat.ts';
import type { Held } from '../operations/work.ts';
import type { ToThread } from './messages.ts';

/** One attempt's heartbeat as its handler's side sees it: lost when the thread says so, or when no good beat was heard for a lease. */
export class Beat {
  readonly #held: Held;
  readonly #onLost: (because: string) => void;
  readonly #begunAt: number;
  #goodAt: number;
  #lost = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(held: Held, onLost: (because: string) => void, begunAt: number) {
    this.#held = held;
    this.#onLost = onLost;
    this.#begunAt = begunAt;
    this.#goodAt = begunAt;
    this.#wait();
  }

  get lost(): boolean {
    return this.#lost;
  }

  asBegin(beat: number): ToThread {
    return { kind: 'begin', beat, held: this.#held, begunAt: this.#begunAt, goodAt: this.#goodAt };
  }

  beaten(at: number): void {
    this.#goodAt = at;
  }

  lose(because: string): void {
    if (this.#lost || this.#stopped) return;
    this.#lost = true;
    clearTimeout(this.#timer);
    this.#onLost(because);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #leftMs(): number {
    return this.#goodAt + this.#held.pool.leaseMs - monotonicMs();
  }

  #wait(): void {
    // After a block of this event loop its timers run before the messages that came meanwhile.
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), Math.max(0, this.#leftMs()));
  }

  #look(): void {
    if (this.#leftMs() <= 0) this.lose('no heartbeat got through');
    else if (!this.#stopped && !this.#lost) this.#wait();
  }
}
