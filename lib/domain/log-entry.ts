import type { EpochMs } from './time.ts';

/** A tier as the decision log names it, as its keys end: `pool:examples`, `api:examples/probe`, `tenant:<digest>`, `ip:<digest>`. */
export type TierName = string;

/** A tier of a grant and the limit the gate held it to; absent = none. */
export type LoggedTier = { readonly tier: TierName; readonly limit?: number };

export type LeaseKind = 'seats' | 'slots';

/** What one decision wrote. `member` is `<tenant>|<task id>`; in `sweep` of slots it ends in `#<permit>`. */
export type LogWords =
  | {
      readonly kind: 'admit';
      readonly member: string;
      readonly seatUntil: EpochMs;
      /** Limits are `inSystem`. */
      readonly tiers: readonly LoggedTier[];
    }
  /** Stands right before the `admit` of the task that takes this one's place. */
  | { readonly kind: 'replace'; readonly member: string }
  | {
      readonly kind: 'acquire';
      readonly member: string;
      readonly slotsUntil: EpochMs;
      readonly seatUntil: EpochMs;
      readonly permits: number;
      readonly attempt: number;
      /** Limits are `running`. */
      readonly tiers: readonly LoggedTier[];
    }
  | {
      readonly kind: 'restore';
      readonly member: string;
      /** Undefined: slots alone, of a cancelled task whose handler may still run. */
      readonly seatUntil: EpochMs | undefined;
      /** 0 = it waits. */
      readonly permits: number;
      readonly tiers: readonly TierName[];
    }
  | { readonly kind: 'release'; readonly member: string; readonly slots: boolean; readonly seats: boolean }
  | { readonly kind: 'lost'; readonly member: string; readonly nonce: string }
  | {
      readonly kind: 'sweep';
      readonly set: LeaseKind;
      readonly tier: TierName;
      /** Lapsed leases that this sweep left where they were, and that the gate did not count. */
      readonly left: number;
      readonly dropped: readonly string[];
    }
  | { readonly kind: 'limits'; readonly version: number; readonly overrides: Readonly<Record<string, number>> }
  | { readonly kind: 'epoch'; readonly epoch: number };

/** One record of the decision log in the order the gate wrote it; `id` is the stream's. */
export type LogEntry =
  | (LogWords & { readonly id: string; readonly now: EpochMs })
  | { readonly kind: 'unreadable'; readonly id: string; readonly text: string };

/** A record that could be read, of one kind. */
export type Read<Kind extends LogWords['kind'] = LogWords['kind']> = Extract<LogEntry, { kind: Kind }>;
