import { second } from './time.ts';

/** How long a request may take between its lock and its record; the lock lives as long. */
export const createDeadlineMs = 10 * second;
/** A worker that acquired but did not write its start within this time does not start. */
export const startDeadlineMs = 5 * second;
/** How much older than its create deadline a seat without a record must be before it is given back. */
export const orphanMs = 300 * second;
/** Clocks of different machines may differ by this much; a moment compared elsewhere than where it was made allows for it. */
export const skewMs = 5 * second;
/** How many attempts may lose their worker before the task fails; such attempts do not spend its retry budget. */
export const mostLostLeases = 5;
/** How often a task's messages may be given up before it fails. */
export const mostBurials = 3;
/** How long a worker without a slot asks again before it gives its message back. */
export const acquireWaitMs = second / 2;
/** A handler that was told to stop has this long to do so. */
export const stopGraceMs = 2 * second;
