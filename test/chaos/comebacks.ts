import type { Outage } from './blows.ts';
import type { Finding } from './check.ts';
import type { Place } from './points.ts';
import { type Run, toldRuns } from './reconciler.ts';
import { busyMs, leaseMs, reconcilePeriodMs, singleFlightMs } from './times.ts';
import type { Accepted } from './witness.ts';

/** A function's process that was struck while it asked something for a task. */
export type Struck = {
  readonly by: Place['by'];
  readonly kind: 'kill' | 'freeze';
  readonly task: string | undefined;
  readonly at: number;
};

/**
 * How long running tasks stayed with a worker that was killed: until the next write to their records that was accepted. By the rules a lease and a
 * reconcile period. A task that waited through an outage waited for the service, one that waited while a run of reconcile had died or was frozen for
 * the next run. A finding tells what the `runs` of reconcile did meanwhile.
 */
export function judgeComebacks(
  struck: readonly Struck[],
  accepted: ReadonlyMap<string, readonly Accepted[]>,
  outages: readonly Pick<Outage, 'at' | 'until'>[],
  runs: readonly Run[] = [],
): { findings: Finding[]; waitsMs: number[] } {
  const unmended = struck
    .filter(({ by }) => by === 'reconcile')
    .map(({ at }) => ({ at, until: at + singleFlightMs + reconcilePeriodMs }));
  const excuses = [...outages, ...unmended];
  const findings: Finding[] = [];
  const waitsMs: number[] = [];
  for (const { by, kind, task, at } of struck) {
    const writes = accepted.get(task ?? '') ?? [];
    if (by !== 'work' || kind !== 'kill' || writes.findLast((write) => write.at <= at)?.status !== 'running') continue;
    const next = writes.find((write) => write.at > at);
    if (next === undefined || excuses.some((excuse) => excuse.until > at && excuse.at < next.at)) continue;
    const waitedMs = next.at - at;
    waitsMs.push(waitedMs);
    const most = leaseMs + reconcilePeriodMs + busyMs;
    const what = `${task} stayed ${waitedMs} ms with a worker that was killed, expected at most ${most}`;
    if (waitedMs > most) findings.push({ kind: 'late comeback', task, what: what + toldRuns(runs, at, next.at) });
  }
  return { findings, waitsMs: waitsMs.toSorted((one, other) => one - other) };
}
