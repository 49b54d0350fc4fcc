import { skewMs } from '../domain/protocol.ts';
import { endOf, isTerminal, type TaskRecord } from '../domain/task-record.ts';
import { addMs, minute } from '../domain/time.ts';
import type { TaskKey } from '../ports.ts';
import { afterEnd, type EndDeps } from './end.ts';
import { releaseEnded } from './release.ts';

/** `cancelled`: by this call or an earlier one. `finished`: the task ended otherwise first, and stays as it is. */
export type Cancelled =
  | { readonly kind: 'cancelled'; readonly record: TaskRecord }
  | { readonly kind: 'finished'; readonly record: TaskRecord }
  | { readonly kind: 'absent' };

/**
 * Ends an open task as cancelled. One conditional write decides between this and every other end; the seat goes back in the same call. A handler that
 * runs learns it at its next heartbeat: its slot stays until it has stopped, so the record keeps its holder and stays among the open tasks until the
 * lease is over, for reconcile to look.
 */
export async function cancel(deps: EndDeps, key: TaskKey): Promise<Cancelled> {
  const seen = await deps.records.read(key);
  if (seen === undefined) return { kind: 'absent' };
  if (isTerminal(seen.status)) return ended(deps, seen);
  const now = deps.clock.now();
  const leaseMs = deps.weir.pools[seen.pool]?.leaseMs ?? minute;
  const written = await deps.records.cancel(key, endOf(seen, now), addMs(now, leaseMs + skewMs));
  const { record } = written;
  if (record === undefined) return { kind: 'absent' };
  if (written.kind === 'refused') return ended(deps, record);
  const { released } = await afterEnd(deps, record);
  // One that never ran holds nothing any more, so that reconcile need not look.
  if (released && record.holder === undefined && record.delivery === undefined)
    await deps.records.close(record, record.revision).catch(() => undefined);
  deps.log.info('cancelled', { taskId: record.id, attempt: record.attempt, status: seen.status });
  return { kind: 'cancelled', record };
}

/** Ended before. A cancel that died may have left the seat, and whoever asks again is told that it is free. */
async function ended(deps: EndDeps, record: TaskRecord): Promise<Cancelled> {
  if (record.status !== 'cancelled') return { kind: 'finished', record };
  await releaseEnded(deps, record);
  return { kind: 'cancelled', record };
}
