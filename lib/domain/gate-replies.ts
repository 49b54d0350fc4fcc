import type { Pause } from './live-limits.ts';
import type { RateUse } from './rates.ts';
import type { ServiceTimes } from './service-times.ts';
import type { TaskId } from './task-id.ts';
import type { Tier, TierUse } from './tiers.ts';
import type { EpochMs } from './time.ts';

/** The dedup key is taken. `creating`: its task's record may not exist yet, and may never. */
type Duplicate = {
  readonly kind: 'duplicate';
  readonly creating: boolean;
  readonly taskId: TaskId;
  readonly fingerprint: string;
};

/** Redis has no epoch: it lost its data, or the system is new. Nothing is decided until one is written. */
type Rebuilding = { readonly kind: 'rebuilding' };

/** The task's pool is paused; for a post, in a way that takes no new tasks either. */
type PoolPaused = { readonly kind: 'paused' };

/** A tier is full: `tiers[short]` is the first that is, widest first. */
export type Full = {
  readonly now: EpochMs;
  readonly short: number;
  readonly limitsVersion: number;
  readonly tiers: readonly TierUse[];
};

/** The rules in force of a request, where it has any; of one that was refused they are as they were before. */
type Rates = { readonly rates: readonly RateUse[] };

/** A rule has too little left: of those that have, `short` names the one with the longest wait. Nothing was charged. */
export type RateLimited = {
  readonly kind: 'rate_limited';
  readonly short: string;
  /** The same request, alone, is let through after exactly this time. */
  readonly retryAfterMs: number;
  readonly limitsVersion: number;
} & Rates;

/** More is asked than the rule ever lets through at once. */
export type TooCostly = { readonly kind: 'too_costly'; readonly rule: string; readonly limit: number };

/** The decision of rules alone, on a route that no capacity guards. */
export type RateReply = ({ readonly kind: 'passed' } & Rates) | RateLimited | TooCostly;

/** `gone`: nothing is charged to this task any more, or never was. `stale`: a later attempt settled it. */
export type SettleReply = { readonly kind: 'settled' | 'gone' | 'stale' };

export type PeekReply =
  | { readonly kind: 'open'; readonly now: EpochMs }
  | (Duplicate & { readonly now: EpochMs })
  | Rebuilding
  | PoolPaused
  | ({ readonly kind: 'full' } & Full);

export type AdmitReply =
  | ({
      readonly kind: 'admitted';
      readonly now: EpochMs;
      /** The task may start until then, and its seat lapses then. */
      readonly deadline: EpochMs;
      readonly epoch: number;
      readonly limitsVersion: number;
      readonly tiers: readonly TierUse[];
    } & Rates)
  | Duplicate
  | Rebuilding
  | PoolPaused
  | RateLimited
  | TooCostly
  /** Past `notAfter`: nothing was done. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'never'; readonly tier: number; readonly limit: number }
  | ({ readonly kind: 'behind'; readonly ahead: number } & Omit<Full, 'short'> & Rates)
  | ({ readonly kind: 'rejected' } & Full & Rates);

export type AcquireReply =
  | { readonly kind: 'acquired'; readonly now: EpochMs; readonly lapses: EpochMs; readonly epoch: number }
  | { readonly kind: 'late' }
  | { readonly kind: 'held'; readonly lapses: EpochMs }
  | Rebuilding
  | PoolPaused
  | {
      readonly kind: 'busy';
      readonly tier: number;
      readonly inUse: number;
      readonly limit: number;
      readonly hintMs: number;
    }
  | { readonly kind: 'unseated'; readonly tier: number; readonly inUse: number; readonly limit: number };

export type ExtendReply =
  | { readonly kind: 'extended' | 'seatless'; readonly lapses: EpochMs }
  | { readonly kind: 'lost' }
  | Rebuilding;

export type AliveReply = { readonly kind: 'alive'; readonly lapses: EpochMs } | { readonly kind: 'gone' } | Rebuilding;
export type ConfirmReply = { readonly kind: 'confirmed' } | { readonly kind: 'other'; readonly taskId: TaskId };
export type KeepReply = { readonly kind: 'kept' | 'lost' };
export type ReleaseReply = { readonly kind: 'released' | 'gone' };

export type LimitsReply = { readonly kind: 'applied' } | { readonly kind: 'older'; readonly version: number };
export type SingleReply = { readonly kind: 'mine' | 'taken' };
export type RestoreReply = { readonly kind: 'restored' | 'begun' | 'begun_already' | 'not_mine' };

export type Observation = {
  readonly now: EpochMs;
  readonly limitsVersion: number;
  readonly rebuilding: boolean;
  readonly tiers: readonly ObservedTier[];
};

/** `ahead`: tasks that wait before the one asked about; absent where it has no seat. */
export type ObservedTier = TierUse & {
  /** Of a pool that is paused: whether tasks are admitted meanwhile. */
  readonly paused?: Pause;
  readonly tasksRunning: number;
  readonly ahead?: number;
  readonly oldestWaiting?: TaskId;
};

/** One task's slots in one tier. What its attempt wrote is absent where nobody is known to hold them. */
export type LedgerSlot = Tier & {
  readonly tenant: string;
  readonly taskId: TaskId;
  readonly permits: number;
  readonly lapsesAt: EpochMs;
  readonly since?: EpochMs;
  readonly attempt?: number;
  readonly lastHeartbeat?: EpochMs;
};
export type Ledger = { readonly now: EpochMs; readonly slots: readonly LedgerSlot[] };

/** Service times of a pool or api, and of a pool how many ETAs were told and kept. */
export type PoolTimes = { readonly times: ServiceTimes; readonly etasTold: number; readonly etasKept: number };
