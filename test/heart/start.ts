import type { Place } from '../support/process-deps.ts';

/** What a worker's process is told when it starts, and its heartbeat thread with it, in `WEIR_TEST_START`. */
export type Start = Place & {
  readonly task: { readonly timeoutMs: number; readonly attempts: number };
  /** The module of its thread, beside this one. */
  readonly thread: 'thread.ts' | 'fragile-thread.ts' | 'broken-thread.ts';
};

/** What pool `p` of the test's system is: a lease that a machine under load does not lose by itself. */
export const pool = { running: 2, pending: 3, leaseMs: 6_000, heartbeatMs: 1_500 };

export function readStart(): Start {
  return JSON.parse(process.env.WEIR_TEST_START ?? 'null');
}
