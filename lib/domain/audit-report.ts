import type { LiveFields } from './audit-limits.ts';
import type { LeaseKind, TierName } from './log-entry.ts';
import type { Limits } from './tiers.ts';
import type { EpochMs } from './time.ts';

export type At = { readonly at: EpochMs; readonly entry: string };
export type Grant = At & { readonly tier: TierName; readonly set: LeaseKind; readonly member: string };

/** What the gate must never do. */
export type Violation =
  /** More leases after a grant than the limit in force. */
  | (Grant & { readonly kind: 'over_limit'; readonly use: number; readonly limit: number })
  /** The grant was held to another limit than the one in force by configuration and live changes; undefined = none. */
  | (Grant & {
      readonly kind: 'limit_differs';
      readonly recorded: number | undefined;
      readonly inForce: number | undefined;
    })
  /** A second attempt got slots while those of the first had not lapsed. */
  | (Grant & { readonly kind: 'double_grant'; readonly until: EpochMs })
  /** A sweep dropped a lease that had not lapsed. */
  | (Grant & { readonly kind: 'swept_alive'; readonly until: EpochMs });

/** What the log does not account for: no proof of a fault, but each deserves a look. */
export type Unexplained =
  | (At & { readonly kind: 'release_of_nothing'; readonly member: string })
  | (At & {
      readonly kind: 'sweep_of_nothing';
      readonly member: string;
      readonly tier: TierName;
      readonly set: LeaseKind;
    })
  | (At & { readonly kind: 'replace_alone'; readonly member: string })
  /** The entry's moment is before that of the one it follows. */
  | (At & { readonly kind: 'out_of_order'; readonly after: EpochMs })
  | { readonly kind: 'unreadable'; readonly entry: string; readonly text: string };

/** The most a tier held after a decision, the limit it was held to (absent = none), and the task that came last. */
export type Peak = Grant & {
  readonly use: number;
  readonly limit?: number;
  readonly by: 'admit' | 'acquire' | 'restore';
};

export type AuditReport = {
  readonly violations: readonly Violation[];
  readonly unexplained: readonly Unexplained[];
  /** By tier, seats before slots, in the order they were first granted. */
  readonly peaks: readonly (Peak & { readonly grants: number })[];
  readonly counts: Readonly<Record<string, number>>;
  /** Grants whose limit was compared with their own record alone, because the limits in force before the log begins are unknown. */
  readonly limitsUnknown: number;
  readonly from?: EpochMs;
  readonly to?: EpochMs;
  /** Members that each set holds after the last entry. */
  readonly held: Readonly<Record<string, readonly string[]>>;
};

export type AuditContext = {
  readonly configured: Limits;
  /** The log begins with the cell's first decision; otherwise what was granted before is unknown, and every use is the least it can have been. */
  readonly whole: boolean;
  /** Overrides in force after the last entry, as Redis has them; counts only where the log itself has no `limits` record. */
  readonly live: LiveFields;
  /** Judges only what happened from here on. */
  readonly since?: EpochMs | undefined;
};
