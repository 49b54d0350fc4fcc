import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../protocol/random.ts';
import type { Witness } from './witness.ts';

/** One task as a client asks for it. `tag` is its effect's key: no other task of the campaign has it. */
export type Ask = { readonly tag: string; readonly body: string };

/** What clients were promised: the answers 202 and 200, by task. */
export type Promised = ReadonlyMap<string, { readonly tag: string; readonly at: number }>;

/** What the last answer to a cancel said; `asked` where none came. */
export type Cancels = ReadonlyMap<string, 'asked' | 'cancelled' | 'finished'>;

const patienceMs = 6_000;
const pauseMs = 250;
const endWithinMs = 30_000;
/** Answers a client may get at any time, and tries again after: no decision, a creation under way, or a full tier. */
const passing: ReadonlySet<number> = new Set([409, 429, 500, 502, 503, 504]);

/** Impatient clients: they post the same again until they have an answer they can keep. */
export class Clients {
  readonly promised = new Map<string, { tag: string; at: number }>();
  readonly cancels = new Map<string, 'asked' | 'cancelled' | 'finished'>();
  /** Answers no client should ever get. */
  readonly unexpected: string[] = [];
  readonly answers = new Map<string, number>();
  readonly #root: string;
  readonly #witness: Witness;
  readonly #stop: AbortSignal;
  readonly #run: string;
  #asked = 0;

  constructor({ url, witness, stop, run }: { url: string; witness: Witness; stop: AbortSignal; run: string }) {
    this.#root = url;
    this.#witness = witness;
    this.#stop = stop;
    this.#run = run;
  }

  newAsk(dice: Random): Ask {
    const tag = `${this.#run}-${++this.#asked}`;
    const ms = 50 + Math.floor(dice.next() ** 2 * 750);
    const input = { ms, tag, progressSteps: dice.chance(0.8) ? 1 : 2, failTimes: dice.chance(0.15) ? 1 : 0 };
    return { tag, body: JSON.stringify({ input }) };
  }

  /** Posts until 202 or 200; answers the task's id, or undefined when the campaign ended first. */
  async post({ tag, body }: Ask, headers: Record<string, string> = {}): Promise<string | undefined> {
    while (!this.#stop.aborted) {
      const answer = await this.#send('POST', 'examples/probe/tasks', { body, headers });
      this.#count(answer.kind === 'answered' ? `${answer.status} ${answer.code}`.trim() : 'no answer');
      if (answer.kind === 'answered' && (answer.status === 202 || answer.status === 200)) {
        if (!this.promised.has(answer.id)) this.promised.set(answer.id, { tag, at: Date.now() });
        return answer.id;
      }
      if (answer.kind === 'answered' && !passing.has(answer.status))
        this.unexpected.push(`${answer.status} to ${body}: ${answer.text.slice(0, 300)}`);
      await this.pause(pauseMs);
    }
    return undefined;
  }

  /** Cancels until the answer is one of the two that are always true. */
  async cancel(id: string): Promise<void> {
    if (!this.cancels.has(id)) this.cancels.set(id, 'asked');
    while (!this.#stop.aborted) {
      const answer = await this.#send('DELETE', `tasks/${id}`, {});
      this.#count(`cancel ${answer.kind === 'answered' ? answer.status : 'without an answer'}`);
      const finished = answer.kind === 'answered' && answer.status === 409;
      if (finished || (answer.kind === 'answered' && answer.status === 200)) {
        this.cancels.set(id, finished ? 'finished' : 'cancelled');
        return;
      }
      if (answer.kind === 'answered' && !passing.has(answer.status))
        this.unexpected.push(`${answer.status} to a cancel of ${id}: ${answer.text.slice(0, 300)}`);
      await this.pause(pauseMs);
    }
  }

  /** Waits until the task has ended, for a bounded time. */
  async end(id: string): Promise<void> {
    const over = new AbortController();
    await Promise.race([
      this.#witness.untilEnd(id),
      sleep(endWithinMs, undefined, { signal: AbortSignal.any([this.#stop, over.signal]) }).catch(() => undefined),
    ]);
    over.abort();
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop }).catch(() => undefined);
  }

  async #send(method: 'POST' | 'DELETE', path: string, ask: { body?: string; headers?: Record<string, string> }) {
    try {
      const answer = await fetch(`${this.#root}/${path}`, {
        ...ask,
        method,
        headers: { 'content-type': 'application/json', ...ask.headers },
        signal: AbortSignal.timeout(patienceMs),
      });
      const text = await answer.text();
      const { id = '', code = '' } = JSON.parse(text) as { id?: string; code?: string };
      return { kind: 'answered', status: answer.status, id, code, text } as const;
    } catch {
      return { kind: 'gave up' } as const;
    }
  }

  #count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }
}
