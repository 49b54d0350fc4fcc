import { setTimeout as sleep } from 'node:timers/promises';
import type { Strike } from './dice.ts';
import { isAt } from './points.ts';
import type { Call, Connection, Reply, Verdict, Watch } from './proxy/call.ts';

/** `missed`: nothing came to the place in time, or what came was gone before it could be struck. */
export type Struck = 'struck' | 'missed';

/** Does to a victim what a strike says; false when it is gone already. Answers once a frozen one goes on. */
export type Hit = (strike: Strike, pid: number, call: Call) => Promise<boolean>;

type Armed = {
  readonly strike: Strike;
  toSkip: number;
  readonly passed: () => void;
  readonly settle: (struck: Struck) => void;
};

/** Strikes that wait for their place to be passed. */
export class Strikes implements Watch {
  readonly #armed = new Set<Armed>();
  readonly #hit: Hit;

  constructor(hit: Hit) {
    this.#hit = hit;
  }

  /** Resolves when the strike has been dealt, or was missed because nothing came to its place within a time. */
  async arm(strike: Strike, withinMs: number, signal: AbortSignal): Promise<Struck> {
    const passed = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Struck>();
    const armed = { strike, toSkip: strike.skip, passed: () => passed.abort(), settle: resolve };
    this.#armed.add(armed);
    await sleep(withinMs, undefined, { signal: AbortSignal.any([signal, passed.signal]) }).catch(() => undefined);
    if (this.#armed.delete(armed)) return 'missed';
    return promise;
  }

  before(call: Call, connection: Connection): Verdict | Promise<Verdict> {
    return this.#pass(call, undefined, connection);
  }

  after(call: Call, reply: Reply, connection: Connection): Verdict | Promise<Verdict> {
    return this.#pass(call, reply, connection);
  }

  #pass(call: Call, reply: Reply | undefined, connection: Connection): Verdict | Promise<Verdict> {
    for (const armed of this.#armed) {
      if (!isAt(armed.strike.place, call, reply)) continue;
      const owner = connection.owner();
      if (owner?.kind !== armed.strike.place.by) continue;
      if (armed.toSkip-- > 0) continue;
      this.#armed.delete(armed);
      armed.passed();
      return this.#strike(armed, owner.pid, call);
    }
    return 'pass';
  }

  async #strike({ strike, settle }: Armed, pid: number, call: Call): Promise<Verdict> {
    const { blow } = strike;
    const hit = this.#hit(strike, pid, call);
    if (blow.victim === 'function') {
      const worked = await hit;
      settle(worked ? 'struck' : 'missed');
      return blow.kind === 'kill' && worked ? 'drop' : 'pass';
    }
    // The request that came by goes its way at once, and finds the service as it is.
    void hit.then((worked) => settle(worked ? 'struck' : 'missed'));
    return 'pass';
  }
}
