import type { Finding } from './check.ts';
import type { Snapshot, StoredTask } from './snapshot.ts';
import { seatGraceMs } from './times.ts';
import { isEnd } from './witness.ts';

/** Looks for what Redis holds that no open task needs. A lease that has lapsed is not held, also before a sweep drops it. */
export function checkLeases(
  { now, seats, slots, holders, timelessLocks }: Snapshot,
  tasks: ReadonlyMap<string, StoredTask>,
): { findings: Finding[]; explained: string[] } {
  const findings: Finding[] = [];
  const young = new Map<string, number>();
  for (const [tier, leases] of Object.entries(slots)) {
    for (const { member, until } of leases.filter((lease) => lease.until > now)) {
      const what = `${tier} has a slot for ${member}, ${until - now} ms more`;
      findings.push({ kind: 'leaked slot', task: taskOf(member), what });
    }
  }
  const judge = (kind: string, what: string, member: string) => {
    const status = tasks.get(taskOf(member))?.status;
    if (status !== undefined && !isEnd(status)) return;
    const why = status === undefined ? 'without a record' : 'of a task that has ended';
    const ageMs = now - madeAt(taskOf(member));
    const count = `${kind}s ${why}`;
    if (ageMs <= seatGraceMs) young.set(count, (young.get(count) ?? 0) + 1);
    else
      findings.push({
        kind: `leaked ${kind}`,
        task: taskOf(member),
        what: `${what} ${member}, ${why}, ${ageMs} ms old`,
      });
  };
  for (const [tier, leases] of Object.entries(seats))
    for (const { member } of leases.filter(({ until }) => until > now)) judge('seat', `${tier} has`, member);
  for (const member of holders) judge('holder', 'holders has', member);
  for (const key of timelessLocks) findings.push({ kind: 'lock without expiry', what: key });
  const explained = [...young].map(
    ([what, count]) =>
      `${count} ${what} are younger than ${seatGraceMs / 1_000} s: reconcile may leave them until then`,
  );
  return { findings, explained };
}

/** `<tenant>|<id>`, for a slot with `#<number>` behind it. */
function taskOf(member: string): string {
  return (member.split('|').at(-1) ?? '').split('#')[0] ?? '';
}

/** A task id begins with its moment, 48 bits of ms. */
function madeAt(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
