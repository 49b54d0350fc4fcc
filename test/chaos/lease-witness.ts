import type { Call, Owner, Reply } from './proxy/call.ts';

type Lease = { readonly nonce: string; lapses: number; mayBeReleased: boolean };

/** Follows who holds the slots of each task, by the moments Redis itself answers. */
export class LeaseWitness {
  readonly #leases = new Map<string, Lease>();
  readonly #pids = new Map<string, number>();

  /** From here on the slots may be given back, whether the reply comes or not. */
  sawRequest(call: Call): void {
    const lease = call.name === 'release' ? this.#leases.get(call.taskId ?? '') : undefined;
    if (lease !== undefined && lease.nonce === call.nonce) lease.mayBeReleased = true;
  }

  /** The process that acquired slots under a nonce. */
  pidOf(nonce: string): number | undefined {
    return this.#pids.get(nonce);
  }

  /** What is wrong with a reply, in one line; undefined: nothing. */
  sawReply(call: Call, reply: Reply, owner: Owner | undefined): string | undefined {
    const { taskId, nonce } = call;
    if (taskId === undefined || nonce === undefined) return undefined;
    if (call.name === 'acquire' && owner !== undefined) this.#pids.set(nonce, owner.pid);
    const lease = this.#leases.get(taskId);
    if (call.name === 'acquire' && reply.kind === 'acquired') {
      const [now = 0, lapses = 0] = reply.numbers ?? [];
      const wrong =
        lease !== undefined && lease.nonce !== nonce && !lease.mayBeReleased && lease.lapses > now
          ? `acquired by ${nonce} while ${lease.nonce} held it for ${lease.lapses - now} ms more`
          : undefined;
      if (lease?.nonce === nonce) lease.lapses = Math.max(lease.lapses, lapses);
      else this.#leases.set(taskId, { nonce, lapses, mayBeReleased: false });
      return wrong;
    }
    if (call.name !== 'extend' || (reply.kind !== 'extended' && reply.kind !== 'seatless')) return undefined;
    if (lease !== undefined && lease.nonce !== nonce)
      return `the lost lease of ${nonce} was extended, ${lease.nonce} has it`;
    if (lease !== undefined) lease.lapses = Math.max(lease.lapses, reply.numbers?.[0] ?? 0);
    return undefined;
  }
}
