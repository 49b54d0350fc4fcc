import type { Task } from '../config.ts';
import type { HookEvent } from '../domain/fingerprint.ts';
import type { Full, RateLimited, TooCostly } from '../domain/gate-replies.ts';
import type { RateUse } from '../domain/rates.ts';
import type { JsonValue } from '../domain/strict-json.ts';
import type { TaskRecord } from '../domain/task-record.ts';
import type { EpochMs } from '../domain/time.ts';
import type { Upload } from '../domain/upload.ts';
import type { Unavailable } from '../ports.ts';
import type { Expectation } from './outlook.ts';

export type SubmittedFile = {
  readonly field: string;
  readonly name?: string | undefined;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
} & (
  | { readonly bytes: Uint8Array; readonly upload?: undefined }
  /** It lies in the bucket already. */
  | { readonly upload: Upload; readonly keptUntil: EpochMs; readonly bytes?: undefined }
);

/** A file that a post names instead of carrying it. */
export type UploadReference = {
  readonly field: string;
  readonly uploadId: string;
  readonly name?: string | undefined;
};

/** Why a post cannot have an upload that it names. */
export type UploadRefused =
  | {
      /** There is none, or it is somebody else's · its bytes have not come · its time is over. */
      readonly kind: 'unknown_upload' | 'upload_pending' | 'upload_expired';
      readonly field: string;
      readonly uploadId: string;
    }
  /** The task's rules do not allow such a file. */
  | { readonly kind: 'unfit'; readonly faults: readonly { readonly path: string; readonly message: string }[] };

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
  /** Files to be looked up, once the pool is seen to have room. */
  readonly uploads?: readonly UploadReference[] | undefined;
  readonly options: Options;
};

export type AdmitRequest = {
  readonly tenant: string;
  readonly ip: string;
  readonly task: Task;
  readonly idempotencyKey?: string | undefined;
  /** The event of a hook that asks for it: its name in place of its content makes requests the same, and no other content is refused. */
  readonly event?: HookEvent | undefined;
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
      readonly rates: readonly RateUse[];
      readonly expectation: Expectation | undefined;
    }
  | Named
  | UploadRefused
  | ({ readonly kind: 'rejected'; readonly retryAfterMs: number; readonly rates: readonly RateUse[] } & Full)
  | RateLimited
  | TooCostly
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
