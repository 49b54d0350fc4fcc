import { setTimeout as sleep } from 'node:timers/promises';
import type { StackState } from '../../local/state-file.ts';
import type { Blow, ServiceBlow } from './dice.ts';
import { loseMessages, loseRedis } from './losses.ts';
import type { ServiceName } from './proxy/call.ts';
import type { Relays } from './proxy/relays.ts';

/** From the moment a service was struck until it was whole again. */
export type Outage = { readonly service: ServiceName; readonly kind: Blow['kind']; readonly at: number; until: number };

const upWithinMs = 30_000;
const lookEveryMs = 50;

/** Deals blows to the processes a stack names, and lets go every one it froze. */
export class Blows {
  /** The function processes that were killed, and when. */
  readonly killed = new Map<number, number>();
  readonly outages: Outage[] = [];
  readonly #state: () => StackState;
  readonly #relays: Pick<Relays, 'cut'>;
  readonly #frozen = new Set<number>();

  constructor(state: () => StackState, relays: Pick<Relays, 'cut'>) {
    this.#state = state;
    this.#relays = relays;
  }

  /**
   * Deals a blow; `pid` is the function's process that came by. False: the victim was gone. Resolves when a victim that was frozen goes on, which it does
   * when `early` resolves, too, and when a service is whole again.
   */
  async deal(blow: Blow, pid: number, early: Promise<void> | undefined): Promise<boolean> {
    if (blow.victim !== 'function') return this.#dealAtService(blow);
    // Only a process the stack names now: a pid alone may be somebody else's by then.
    if (!this.#state().functions.some((each) => each.pid === pid)) return false;
    if (blow.kind === 'freeze') return this.#freeze(pid, blow.ms, early);
    this.killed.set(pid, Date.now());
    return signal(pid, 'SIGKILL');
  }

  thawAll(): void {
    for (const pid of this.#frozen) signal(pid, 'SIGCONT');
  }

  async #dealAtService(blow: ServiceBlow): Promise<boolean> {
    const dealt = { service: blow.victim, kind: blow.kind, at: Date.now(), until: Number.POSITIVE_INFINITY };
    this.outages.push(dealt);
    try {
      return await this.#strike(blow);
    } finally {
      dealt.until = Date.now();
    }
  }

  async #strike(blow: ServiceBlow): Promise<boolean> {
    const { victim } = blow;
    const pid = this.#state()[victim]?.pid;
    if (pid === undefined) return false;
    switch (blow.kind) {
      case 'cut':
        this.#relays.cut(victim);
        return true;
      case 'lose':
        return victim === 'redis' ? loseRedis(this.#state()) : loseMessages(this.#state());
      case 'freeze':
        return this.#freeze(pid, blow.ms, undefined);
      case 'kill':
        return signal(pid, 'SIGKILL') && this.#untilStartedAgain(victim, pid);
    }
  }

  async #freeze(pid: number, ms: number, early: Promise<void> | undefined): Promise<boolean> {
    if (!signal(pid, 'SIGSTOP')) return false;
    this.#frozen.add(pid);
    const late = sleep(ms, undefined, { ref: false });
    await (early === undefined ? late : Promise.race([late, early]));
    this.#frozen.delete(pid);
    return signal(pid, 'SIGCONT');
  }

  /** The stack names the new process as soon as there is one; it answers a little later. */
  async #untilStartedAgain(victim: ServiceName, before: number): Promise<boolean> {
    const until = Date.now() + upWithinMs;
    while (this.#state()[victim]?.pid === before && Date.now() < until)
      await sleep(lookEveryMs, undefined, { ref: false });
    return true;
  }
}

function signal(pid: number, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
