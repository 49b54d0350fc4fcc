import { Findings } from './audit-findings.ts';
import { Leases } from './audit-leases.ts';
import { LimitsInForce } from './audit-limits.ts';
import type { AuditContext, AuditReport, Grant } from './audit-report.ts';
import type { LeaseKind, LogEntry, LoggedTier, Read, TierName } from './log-entry.ts';
import { skewMs } from './protocol.ts';
import { isTaskId, taskIdTime } from './task-id.ts';
import { type EpochMs, toEpochMs } from './time.ts';
import { unreachable } from './unreachable.ts';

const limitNames = { seats: 'inSystem', slots: 'running' } as const;

/**
 * Recomputes from the decisions alone what every tier held after each grant, by the gate's own counting rule, and compares it with the limits in
 * force. Of a log that begins in the middle it knows too little, never too much: a violation it reports is one.
 */
export function audit(entries: readonly LogEntry[], context: AuditContext): AuditReport {
  const auditor = new Auditor(entries, context);
  for (const entry of entries) auditor.read(entry);
  return auditor.report();
}

class Auditor {
  readonly #context: AuditContext;
  readonly #leases = new Leases();
  readonly #limits: LimitsInForce;
  readonly #findings: Findings;
  readonly #counts: Record<string, number> = {};
  #limitsUnknown = 0;
  #from: EpochMs | undefined;
  #to: EpochMs | undefined;
  /** Leases that sweeps of the script call under way left uncounted, by set. */
  #left = new Map<string, number>();
  #replaced: Read<'replace'> | undefined;

  constructor(entries: readonly LogEntry[], context: AuditContext) {
    this.#context = context;
    this.#findings = new Findings(context.since);
    const changed = entries.some(({ kind }) => kind === 'limits');
    this.#limits = new LimitsInForce(context.configured, context.whole ? {} : changed ? undefined : context.live);
  }

  read(entry: LogEntry): void {
    this.#counts[entry.kind] = (this.#counts[entry.kind] ?? 0) + 1;
    if (entry.kind === 'unreadable') {
      this.#findings.wonder({ kind: 'unreadable', entry: entry.id, text: entry.text });
      return;
    }
    const { id, now } = entry;
    this.#from ??= now;
    if (this.#to !== undefined && now < this.#to)
      this.#findings.wonder({ kind: 'out_of_order', at: now, entry: id, after: this.#to });
    this.#to = now;
    if (this.#replaced !== undefined && entry.kind !== 'admit') {
      const { member, now: at, id: alone } = this.#replaced;
      this.#findings.wonder({ kind: 'replace_alone', at, entry: alone, member });
      this.#replaced = undefined;
    }
    this.#take(entry);
    // The sweeps of a call stand right before its grant.
    if (entry.kind !== 'sweep' && entry.kind !== 'replace') this.#left.clear();
  }

  report(): AuditReport {
    return {
      violations: this.#findings.violations,
      unexplained: this.#findings.unexplained,
      peaks: [...this.#findings.peaks.values()],
      counts: this.#counts,
      limitsUnknown: this.#limitsUnknown,
      ...(this.#from === undefined || this.#to === undefined ? {} : { from: this.#from, to: this.#to }),
      held: this.#leases.held(),
    };
  }

  #take(entry: Read): void {
    switch (entry.kind) {
      case 'admit':
        this.#leases.admit(entry, this.#replaced?.member);
        this.#replaced = undefined;
        this.#judge(entry, 'seats');
        break;
      case 'replace':
        this.#replaced = entry;
        break;
      case 'acquire':
        this.#findDoubleGrant(entry);
        this.#leases.acquire(entry);
        this.#judge(entry, 'slots');
        break;
      case 'restore':
        this.#leases.restore(entry);
        this.#noteRestored(entry);
        break;
      case 'release':
        if (!this.#leases.release(entry) && this.#mustBeKnown(entry.member))
          this.#findings.wonder({ kind: 'release_of_nothing', at: entry.now, entry: entry.id, member: entry.member });
        break;
      case 'sweep':
        this.#sweep(entry);
        break;
      case 'limits':
        this.#limits.change(entry.overrides);
        break;
      case 'lost':
      case 'epoch':
        break;
      default:
        unreachable(entry);
    }
  }

  #findDoubleGrant(entry: Read<'acquire'>): void {
    const { member, now } = entry;
    for (const { tier } of entry.tiers) {
      const until = this.#leases.of('slots', tier).until(`${member}#1`, now);
      if (until === undefined || until <= now) continue;
      const grant = this.#grant(entry, tier, 'slots');
      this.#findings.violate({ kind: 'double_grant', ...grant, until: toEpochMs(until) });
      return;
    }
  }

  /** What was put back is no grant: no limit is broken by it. */
  #noteRestored(entry: Read<'restore'>): void {
    for (const tier of entry.tiers) {
      for (const set of entry.permits > 0 ? (['seats', 'slots'] as const) : (['seats'] as const)) {
        const inForce = this.#limits.of(tier, limitNames[set]);
        this.#note(entry, { tier, ...(inForce.kind === 'known' ? inForce : {}) }, set);
      }
    }
  }

  #sweep(entry: Read<'sweep'>): void {
    const { set, tier, now } = entry;
    const leases = this.#leases.of(set, tier);
    for (const member of entry.dropped) {
      const until = leases.until(member, now);
      const grant = { at: now, entry: entry.id, tier, set, member };
      if (until !== undefined && until > now)
        this.#findings.violate({ kind: 'swept_alive', ...grant, until: toEpochMs(until) });
      if (!leases.drop(member) && this.#mustBeKnown(member))
        this.#findings.wonder({ kind: 'sweep_of_nothing', ...grant });
    }
    this.#left.set(`${set}:${tier}`, entry.left);
  }

  /** After a grant: no tier holds more than the limit in force, and that is the limit the gate went by. */
  #judge(entry: Read<'admit'> | Read<'acquire'>, set: LeaseKind): void {
    for (const tier of entry.tiers) {
      const grant = this.#grant(entry, tier.tier, set);
      const use = this.#note(entry, tier, set);
      const inForce = this.#limits.of(tier.tier, limitNames[set]);
      if (inForce.kind === 'unknown') this.#limitsUnknown++;
      else if (inForce.limit !== tier.limit)
        this.#findings.violate({ kind: 'limit_differs', ...grant, recorded: tier.limit, inForce: inForce.limit });
      const limit = inForce.kind === 'known' ? inForce.limit : tier.limit;
      if (limit !== undefined && use > limit) this.#findings.violate({ kind: 'over_limit', ...grant, use, limit });
    }
  }

  /** Keeps what the set held, if that is its peak, and answers it. */
  #note(entry: Read<'admit'> | Read<'acquire'> | Read<'restore'>, { tier, limit }: LoggedTier, set: LeaseKind): number {
    const use = this.#leases.of(set, tier).least(entry.now, this.#left.get(`${set}:${tier}`) ?? 0);
    this.#findings.held(this.#grant(entry, tier, set), entry.kind, use, limit);
    return use;
  }

  #grant(
    { id, now, member }: Read<'admit'> | Read<'acquire'> | Read<'restore'>,
    tier: TierName,
    set: LeaseKind,
  ): Grant {
    return { at: now, entry: id, tier, set, member };
  }

  /** Its grant is in the log for certain: the log is whole, or the task was made after it begins. */
  #mustBeKnown(member: string): boolean {
    const id = member.slice(member.lastIndexOf('|') + 1).replace(/#\d+$/, '');
    return this.#context.whole || (isTaskId(id) && this.#from !== undefined && taskIdTime(id) > this.#from + skewMs);
  }
}
