import { createDeadlineMs, orphanMs } from '../../lib/domain/protocol.ts';

/** The times of a campaign's stack: the shortest the configuration allows, so that leases lapse while a campaign runs. */
export const leaseMs = 3_000;
export const heartbeatMs = 1_000;
export const resendAgeMs = 4_000;
/** As deployed: a task of a campaign that expires waited for something that never came. */
export const startWindowMs = 3_600_000;
/** How often the campaign itself starts reconcile; the template's own schedule is one minute and runs beside it. */
export const reconcilePeriodMs = 2_000;

/** Slots of the pool, and one instance of its function for each (the local stack has eight at most). */
export const running = 8;
export const pending = 400;

/** A run of reconcile that died keeps the next one away for so long. */
export const singleFlightMs = createDeadlineMs;

/** What a machine with two cores, busy with everything at once, may take beside what the system waits by its rules. */
export const busyMs = 15_000;

/** So old may a seat without a record be, or one whose release Redis never got: then the next run of reconcile gives it back. */
export const seatGraceMs = createDeadlineMs + orphanMs + reconcilePeriodMs + singleFlightMs + busyMs;
