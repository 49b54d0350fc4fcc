import type { Call, Owner, Reply } from './proxy/call.ts';

type Event = { readonly at: number; readonly text: string };

const mostTasks = 20_000;
const mostEvents = 400;

/** What the proxies saw of each task, and the blows that hit it, in the order of the replies. */
export class History {
  readonly #events = new Map<string, Event[]>();
  readonly #startedAt = Date.now();

  saw(call: Call, reply: Reply, owner: Owner | undefined): void {
    const standing = reply.standing;
    const parts = [
      owner === undefined ? 'a process that is gone' : `${owner.kind} ${owner.pid}`,
      `${call.service} ${call.name}`,
      ...(call.nonce === undefined ? [] : [`nonce ${call.nonce.slice(0, 8)}`]),
      `→ ${reply.kind}`,
      ...(standing === undefined
        ? []
        : [`(${standing.status}, attempt ${standing.attempt}, revision ${standing.revision})`]),
    ];
    this.add(call.taskId, parts.join(' '));
  }

  add(taskId: string | undefined, text: string): void {
    if (taskId === undefined) return;
    let events = this.#events.get(taskId);
    if (events === undefined) {
      if (this.#events.size >= mostTasks) this.#events.delete(this.#events.keys().next().value ?? '');
      events = [];
      this.#events.set(taskId, events);
    }
    if (events.length < mostEvents) events.push({ at: Date.now(), text });
  }

  /** Lines, each with its moment in seconds since the campaign began. */
  of(taskId: string): string[] {
    const events = this.#events.get(taskId) ?? [];
    return events.map(({ at, text }) => `${((at - this.#startedAt) / 1_000).toFixed(3).padStart(9)} s  ${text}`);
  }
}
