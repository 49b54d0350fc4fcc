import { seatMarginMs } from '../config.ts';
import type { RateAsk } from '../domain/rates.ts';
import type { TaskRecord } from '../domain/task-record.ts';
import { addMs, type EpochMs, hour } from '../domain/time.ts';
import type { Claim } from '../ports.ts';
import type { Deps } from './deps.ts';
import { closeCharges } from './rate-charges.ts';

/**
 * Gives back the slots, seats and, unless its result may be reused, the pointer of a task that ended. The outcome is written and stands whatever Redis
 * says; what cannot be given back now lapses by itself. The slots are those of `held`, by default of its last attempt, which is over: only after a cancel
 * may its handler go on for a heartbeat, so that a cancelled task's slots are given back by that attempt alone, or when their lease is over. What rate
 * rules charged goes back where the task never ran.
 */
export async function releaseEnded(
  { gate, log }: Pick<Deps, 'gate' | 'log'>,
  record: TaskRecord,
  held?: { readonly nonce: string; readonly served: boolean },
): Promise<boolean> {
  const pointerMs = record.status === 'succeeded' ? record.reuseMs : 0;
  const last = record.status === 'cancelled' ? undefined : record.holder;
  const { nonce, served } = held ?? { nonce: last, served: false };
  const steps = {
    release: gate.release({ ...record, nonce, served, ended: { pointerMs } }),
    charges: closeCharges({ gate }, record),
  };
  const ends = Object.entries(steps).map(([step, done]) =>
    done.then(
      () => true,
      (error: unknown) => {
        log.warn('release after the end had no answer', { step, taskId: record.id, reason: String(error) });
        return false;
      },
    ),
  );
  return (await Promise.all(ends)).every(Boolean);
}

/** Gives back this attempt's slots alone; the task goes on. */
export async function releaseSlots(
  { gate, log }: Pick<Deps, 'gate' | 'log'>,
  record: TaskRecord,
  nonce: string,
): Promise<void> {
  await gate.release({ ...record, nonce }).catch((error: unknown) => {
    log.warn('release of slots had no answer', { taskId: record.id, reason: String(error) });
  });
}

/** Does the record last longer than a task that goes back to the queue until `deadline` may need it? Time never ends an open task's record. */
export function outlives({ expiresAt }: Pick<TaskRecord, 'expiresAt'>, deadline: EpochMs): boolean {
  return addMs(deadline, hour) < expiresAt;
}

/** Makes a seat last until a task that goes back to the queue has surely started or expired. Throws `Unavailable`. */
export async function raiseSeat({ gate }: Pick<Deps, 'gate'>, record: TaskRecord, deadline: EpochMs): Promise<void> {
  await gate.keep({ ...record, until: addMs(deadline, seatMarginMs) });
}

/** The same where the task goes back whatever Redis says: a seat that is missing then is put back by the next acquire. */
export async function keepSeat(deps: Pick<Deps, 'gate' | 'log'>, record: TaskRecord, deadline: EpochMs): Promise<void> {
  await raiseSeat(deps, record, deadline).catch((error: unknown) => {
    deps.log.warn('keep had no answer', { taskId: record.id, reason: String(error) });
  });
}

/** Undoes an admission that became no task: its seats and charges go, and its lock if it still names this id. */
export async function undoAdmission(
  { gate }: Pick<Deps, 'gate'>,
  claim: Claim & { readonly rates?: readonly RateAsk[] },
  dedupKey: string,
): Promise<void> {
  await Promise.all([
    gate.release({ ...claim, dedupKey, ended: { pointerMs: 0 } }),
    closeCharges({ gate }, { id: claim.id, attempt: 0, charges: claim.rates }),
  ]);
}
