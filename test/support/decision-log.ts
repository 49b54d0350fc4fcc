import { parseEntry } from '../../lib/adapters/redis/decision-log.ts';
import type { AuditContext } from '../../lib/domain/audit-report.ts';
import type { LogEntry } from '../../lib/domain/log-entry.ts';
import type { Limits as TierLimits } from '../../lib/domain/tiers.ts';
import { newTaskId } from './gate.ts';

/** A moment of round numbers, for logs written by hand. */
export const logStart = 1_800_000_000_000;

type Limits = readonly (number | '-')[];
type Grant = { tiers?: string; limits?: Limits; permits?: number; attempt?: number; seatFor?: number };

/** The words the gate's scripts write, each record a second after the one before unless it says otherwise. */
export function writtenLog(defaults: { tiers: string; seats: Limits; slots: Limits }) {
  const texts: string[] = [];
  let now = logStart;
  const push = (kind: string, ...words: (string | number)[]) => texts.push([kind, now, ...words].join(' '));
  const log = {
    texts,
    now: () => now,
    pass(ms: number) {
      now += ms;
      return log;
    },
    admit(member: string, { tiers = defaults.tiers, limits = defaults.seats, seatFor = 3_600_000 }: Grant = {}) {
      push('admit', member, now + seatFor, tiers, ...limits);
      return log;
    },
    acquire(
      member: string,
      { tiers = defaults.tiers, limits = defaults.slots, permits = 1, attempt = 1, seatFor = 3_600_000 }: Grant = {},
    ) {
      push('acquire', member, now + 15_000, now + seatFor, permits, attempt, tiers, ...limits);
      return log;
    },
    restore(member: string, permits: number) {
      push('restore', member, now + 3_600_000, permits, defaults.tiers);
      return log;
    },
    replace(member: string) {
      push('replace', member);
      return log;
    },
    release(member: string, slots: 0 | 1, seats: 0 | 1) {
      push('release', member, slots, seats);
      return log;
    },
    sweep(key: string, left: number, ...dropped: string[]) {
      push('sweep', key, left, dropped.join(' '));
      return log;
    },
    limits(version: number, ...fields: string[]) {
      push('limits', version, ...fields);
      return log;
    },
    entries: (): LogEntry[] => texts.map((text, at) => parseEntry(`${logStart + at}-0`, text)),
  };
  return log;
}

/** `<tenant>|<task id>` as leases name a task. */
export function newMember(tenant = 't'): string {
  return `${tenant}|${newTaskId()}`;
}

const configured: TierLimits = { pools: { p: { inSystem: 3, running: 2 } }, apis: {}, tenant: {}, ip: { inSystem: 2 } };
export const whole: AuditContext = { configured, whole: true, live: {} };
const tiers = 'pool:p api:g/a tenant:T ip:I';

export function newLog() {
  return writtenLog({ tiers, seats: [3, '-', '-', 2], slots: [2, '-', '-', '-'] });
}

export function otherClient(name: string) {
  return { tiers: `pool:p api:g/a tenant:T ip:${name}` };
}

export const tasks = { a: newMember(), b: newMember(), c: newMember('a tenant with spaces'), d: newMember() };
const { a, b, c, d } = tasks;

/** Everything a gate may do, and nothing it may not. */
export function goodLog() {
  return newLog()
    .admit(a)
    .admit(b, otherClient('J'))
    .acquire(a)
    .acquire(b, otherClient('J'))
    .admit(c)
    .release(a, 1, 1)
    .acquire(c)
    .pass(15_000)
    .sweep('slots:pool:p', 0, `${b}#1`)
    .acquire(d, otherClient('K'))
    .limits(1, 'running:pool:p=1', 'inSystem:pool:p=9')
    .release(c, 1, 0)
    .release(d, 1, 1)
    .acquire(c, { limits: [1, '-', '-', '-'], attempt: 2 })
    .replace(b)
    .admit(a, { limits: [9, '-', '-', 2] });
}
