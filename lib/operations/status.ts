import type { TaskId } from '../domain/task-id.ts';
import { isTerminal, type TaskRecord } from '../domain/task-record.ts';
import { second } from '../domain/time.ts';
import type { Deps } from './deps.ts';

export type StatusRequest = {
  readonly tenant: string;
  readonly id: TaskId;
  /** How long to wait for a change, at most 25,000. */
  readonly waitMs: number;
  /** Revision the client knows. */
  readonly known?: number | undefined;
};
export type Status =
  | { readonly kind: 'found'; readonly record: TaskRecord }
  | { readonly kind: 'unchanged'; readonly record: TaskRecord }
  | { readonly kind: 'absent' };

export const longestWaitMs = 25 * second;
const firstPollMs = 100;
const longestPollMs = 500;

/**
 * Reads a task; with `waitMs` it answers at the first of: the revision differs from `known` (without one: the status differs from that at arrival),
 * the task is terminal, the time is over.
 */
export async function status(
  { records, clock }: Pick<Deps, 'records' | 'clock'>,
  request: StatusRequest,
): Promise<Status> {
  const until = clock.now() + Math.min(longestWaitMs, request.waitMs);
  const first = await records.read(request);
  let record = first;
  for (let pollMs = firstPollMs; record !== undefined && waits(record, first, request); pollMs *= 1.3) {
    const leftMs = until - clock.now();
    if (leftMs <= 0) break;
    await clock.sleep(Math.min(pollMs, longestPollMs, leftMs));
    record = await records.read(request);
  }
  if (record === undefined) return { kind: 'absent' };
  return { kind: record.revision === request.known ? 'unchanged' : 'found', record };
}

function waits(record: TaskRecord, first: TaskRecord | undefined, { known }: StatusRequest): boolean {
  if (isTerminal(record.status)) return false;
  return known === undefined ? record.status === first?.status : record.revision === known;
}
