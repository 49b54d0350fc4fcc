import type { Task } from '../config.ts';
import type { Full } from '../domain/gate-replies.ts';
import type { JsonValue } from '../domain/strict-json.ts';
import type { TaskRecord } from '../domain/task-record.ts';
import type { EpochMs } from '../domain/time.ts';
import type { Unavailable } from '../ports.ts';

export type SubmittedFile = {
  readonly field: string;
  readonly name?: string | undefined;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  readonly bytes: Uint8Array;
};
export type Submission = { readonly input: JsonValue; readonly files: readonly SubmittedFile[] };

export type AdmitRequest = {
  readonly tenant: string;
  readonly ip: string;
  readonly method: 'POST';
  readonly task: Task;
  readonly idempotencyKey?: string | undefined;
  /** Read where that costs nothing (a small JSON body); else read only once the pool is seen to have room. */
  readonly submission: Submission | (() => Promise<Submission>);
};

export type Admission =
  | {
      readonly kind: 'admitted';
      readonly record: TaskRecord;
      readonly limitsVersion: number;
      readonly tiers: Full['tiers'];
    }
  | Named
  | ({ readonly kind: 'rejected' } & Full)
  | {
      readonly kind: 'never';
      readonly tier: Full['tiers'][number]['tier'];
      readonly limit: number;
      readonly permits: number;
    }
  /** Another request creates the same task at this moment, and its record did not appear in time. */
  | { readonly kind: 'creating' }
  /** No decision could be made; nothing this request took stays taken. */
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
