import type { TaskId } from './task-id.ts';
import type { TierUse } from './tiers.ts';
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

/** A tier is full: `tiers[short]` is the first that is, widest first. */
export type Full = {
  readonly now: EpochMs;
  readonly short: number;
  readonly limitsVersion: number;
  readonly tiers: readonly TierUse[];
};

export type PeekReply = { readonly kind: 'open' } | Duplicate | Rebuilding | ({ readonly kind: 'full' } & Full);

export type AdmitReply =
  | {
      readonly kind: 'admitted';
      readonly now: EpochMs;
      /** The task may start until then, and its seat lapses then. */
      readonly deadline: EpochMs;
      readonly epoch: number;
      readonly limitsVersion: number;
      readonly tiers: readonly TierUse[];
    }
  | Duplicate
  | Rebuilding
  | { readonly kind: 'never'; readonly tier: number; readonly limit: number }
  | ({ readonly kind: 'rejected' } & Full);

export type AcquireReply =
  | { readonly kind: 'acquired'; readonly now: EpochMs; readonly lapses: EpochMs; readonly epoch: number }
  | { readonly kind: 'late' }
  | { readonly kind: 'held'; readonly lapses: EpochMs }
  | Rebuilding
  | { readonly kind: 'paused' }
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

export type Observation = {
  readonly now: EpochMs;
  readonly limitsVersion: number;
  readonly tiers: readonly (TierUse & { readonly tasksRunning: number; readonly oldestWaiting?: TaskId })[];
};
