import { second } from '../domain/time.ts';

/** Failures in a row that open it. */
const mostFailures = 3;
const openMs = second;

/**
 * Spares callers the wait for a store that does not answer, each process for itself.
 *
 * - `closed`  everybody asks; the third failure in a row opens it
 * - `open`    nobody asks for a second
 * - `probing` after that one asks, and nobody else until it has an answer: that closes it, another failure opens it again
 */
export class RateBreaker {
  readonly #now: () => number;
  #failures = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** May this caller ask? Who may says how it ended. */
  allows(): boolean {
    if (this.#failures < mostFailures) return true;
    if (this.#isProbing || this.#now() < this.#openUntil) return false;
    this.#isProbing = true;
    return true;
  }

  answered(): void {
    this.#failures = 0;
    this.#isProbing = false;
  }

  failed(): void {
    this.#failures++;
    this.#isProbing = false;
    if (this.#failures >= mostFailures) this.#openUntil = this.#now() + openMs;
  }
}
