import type { AuditReport, Peak, Unexplained, Violation } from '../lib/domain/audit-report.ts';
import { isoTime } from '../lib/domain/time.ts';
import { unreachable } from '../lib/domain/unreachable.ts';
import { duration, table } from './table.ts';

type Seen = {
  readonly records: number;
  readonly written: number | undefined;
  readonly whole: boolean;
  readonly log: string;
};

const mostLines = 20;
const mostTiers = 100;
const columns = [
  { title: 'tier', least: 18 },
  { title: 'of' },
  { title: 'peak', right: true },
  { title: 'limit', right: true },
  { title: 'at (UTC)' },
  { title: 'task', least: 13, keep: 'end' as const },
  { title: 'decisions', right: true },
];

/** The report for a person: what was seen, the peak of each tier, then what is wrong and what is strange. */
export function auditText(report: AuditReport, seen: Seen, stream: NodeJS.WriteStream): string {
  const width = stream.isTTY ? Math.max(80, stream.columns) : 1_000;
  const shown = [...report.peaks].sort(byTier);
  const lines = [
    ...seenLines(report, seen),
    '',
    ...(shown.length === 0
      ? ['No grant in it.']
      : table(columns, shown.slice(0, mostTiers).map(row), { width, stream })),
    ...more(shown.length, mostTiers, 'tiers'),
    '',
    ...section('violation', report.violations.map(violationLine)),
    ...section('unexplained', report.unexplained.map(unexplainedLine)),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function seenLines({ counts, from, to, limitsUnknown }: AuditReport, { records, written, whole, log }: Seen): string[] {
  const kinds = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  const time =
    from === undefined || to === undefined ? '' : `, ${isoTime(from)} to ${isoTime(to)} (${duration(to - from)})`;
  const part = whole
    ? 'This is the whole log.'
    : `The log is capped: ${written === undefined ? 'older records' : `${written - records} older records`} are gone. Leases granted before are unknown, so a peak is the least a tier can have held.`;
  return [
    `${log}: ${records} records${time}`,
    ...(kinds.length === 0 ? [] : [`  ${kinds.join(', ')}`]),
    part,
    ...(limitsUnknown === 0
      ? []
      : [
          `${limitsUnknown} limits could not be compared with those in force: live limits had been changed before the log begins.`,
        ]),
  ];
}

function row(peak: Peak & { grants: number }): string[] {
  const limit = peak.limit === undefined ? '-' : String(peak.limit);
  const by = peak.by === 'restore' ? ' (restored)' : '';
  return [peak.tier, peak.set, String(peak.use), limit, clock(peak.at), peak.member + by, String(peak.grants)];
}

/** Time of day: the log spans minutes, and its dates stand above. */
function clock(at: Peak['at']): string {
  return isoTime(at).slice(11, -1);
}

/** Pools, apis, then clients by how much they held. */
function byTier(one: Peak, other: Peak): number {
  const rank = ({ tier }: Peak) => ['pool', 'api', 'tenant', 'ip'].indexOf(tier.slice(0, tier.indexOf(':')));
  return rank(one) - rank(other) || (rank(one) < 2 ? one.tier.localeCompare(other.tier) : other.use - one.use);
}

function violationLine(violation: Violation): string {
  const { at, tier, set, member, entry } = violation;
  const where = `${isoTime(at)}  ${tier} ${set}`;
  const by = `by ${member}, record ${entry}`;
  switch (violation.kind) {
    case 'over_limit':
      return `${where}: ${violation.use} held over the limit of ${violation.limit} (${by})`;
    case 'limit_differs': {
      const { recorded = 'none', inForce = 'none' } = violation;
      return `${where}: granted under the limit ${recorded}, in force was ${inForce} by weir.config.ts and live changes (${by})`;
    }
    case 'double_grant':
      return `${where}: granted again while the slots of an attempt lasted until ${isoTime(violation.until)} (${by})`;
    case 'swept_alive':
      return `${where}: swept though it lasted until ${isoTime(violation.until)} (${by})`;
    default:
      return unreachable(violation);
  }
}

function unexplainedLine(finding: Unexplained): string {
  switch (finding.kind) {
    case 'release_of_nothing':
      return `${isoTime(finding.at)}  ${finding.member} gave back what it was never granted (record ${finding.entry})`;
    case 'sweep_of_nothing':
      return `${isoTime(finding.at)}  ${finding.tier} ${finding.set}: swept ${finding.member}, which it was never granted (record ${finding.entry})`;
    case 'replace_alone':
      return `${isoTime(finding.at)}  ${finding.member} was replaced by no task (record ${finding.entry})`;
    case 'out_of_order':
      return `${isoTime(finding.at)}  follows ${isoTime(finding.after)}: the server's clock went back (record ${finding.entry})`;
    case 'unreadable':
      return `record ${finding.entry} cannot be read: ${JSON.stringify(finding.text.slice(0, 120))}`;
    default:
      return unreachable(finding);
  }
}

function section(name: string, lines: readonly string[]): string[] {
  if (name === 'unexplained' && lines.length === 0) return [];
  const title =
    lines.length === 0
      ? `No ${name}.`
      : `${lines.length} ${name}${lines.length === 1 || name === 'unexplained' ? '' : 's'}:`;
  return [title, ...lines.slice(0, mostLines).map((line) => `  ${line}`), ...more(lines.length, mostLines, 'of them')];
}

function more(count: number, shown: number, what: string): string[] {
  return count > shown ? [`  … and ${count - shown} more ${what}; --json has all`] : [];
}
