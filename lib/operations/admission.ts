import type { Task } from '../config.ts';
import type { Full } from '../domain/gate-replies.ts';
import type { JsonValue } from '../domain/strict-json.ts';
import type { TaskRecord } from '../domain/task-record.ts';
import type { EpochMs } from '../domain/time.ts';
import type { Unavailable } from '../ports.ts';
import type { Expectation } from './outlook.ts';

export type SubmittedFile = {
  readonly field: string;
  readonly name?: string | undefined;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  readonly bytes: Uint8Array;
};
/** What a client asks of the decision; no part of the fingerprint. */
export type Options = {
  /** Refuse now rather than let the task wait longer than this before it starts. */
  readonly maxWaitMs?: number | undefined;
  /** Tell the task's end to this URL. */
  readonly callbackUrl?: string | undefined;
};
export type Submission = {
  readonly input: JsonValue;
  readonly files: readonly SubmittedFile[];
  readonly options: Options;
};

export type AdmitRequest = {
  readonly tenant: string;
  readonly ip: string;
  readonly task: Task;
  readonly idempotencyKey?: string | undefined;
  /** Read where that costs nothing (a small JSON body); else read only once the pool is seen to have room. */
  readonly submission:
    | { readonly kind: 'read'; readonly content: Submission }
    | { readonly kind: 'unread'; read(): Promise<Submission> };
};

export type Admission =
  | {
      readonly kind: 'admitted';
      readonly record: TaskRecord;
      readonly limitsVersion: number;
      readonly tiers: Full['tiers'];
      readonly expectation: Expectation | undefined;
    }
  | Named
  | ({ readonly kind: 'rejected'; readonly retryAfterMs: number } & Full)
  /** There is room, but the task would start later than the client wants to wait. */
  | ({ readonly kind: 'too_late'; readonly maxWaitMs: number; readonly expectation: Expectation } & Omit<Full, 'short'>)
  /** The task's pool is paused and takes no new tasks. */
  | { readonly kind: 'paused'; readonly pool: string }
  | {
      readonly kind: 'never';
      readonly tier: Full['tiers'][number]['tier'];
      readonly limit: number;
      readonly permits: number;
    }
  /** Another request creates the same task at this moment, and its record did not appear in time. */
  | { readonly kind: 'creating' }
  /** No decision could be told. After an unknown outcome the task may exist: the same request joins it, or what was taken lapses. */
  | { readonly kind: 'unavailable'; readonly reason: 'rebuilding' | Unavailable['service'] };

/** A request with everything its dedup key is made of. */
export type Asking = AdmitRequest & {
  readonly dedupKey: string;
  readonly fingerprint: string;
  readonly content: Submission;
};

/** A task that was there already answers the request, or its `Idempotency-Key` was used for another one. */
export type Named =
  | { readonly kind: 'joined'; readonly record: TaskRecord }
  | { readonly kind: 'reused'; readonly record: TaskRecord; readonly until: EpochMs }
  | { readonly kind: 'key_reused' };
