import type { Charge } from './rates.ts';
import type { TaskId } from './task-id.ts';
import type { Tier } from './tiers.ts';
import { addMs, type EpochMs } from './time.ts';

export const taskStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;

/**
 * Where a task stands. The record is the truth; every write is conditional on the status it leaves, terminal ones never change.
 *
 * - `queued`     admitted, waits for a slot. `deadline`: may start until. `dueAt`: when reconcile sends its message.
 * - `running`    an attempt holds slots. `deadline`: the attempt ends by. `dueAt`: when reconcile asks whether its lease is alive.
 *                → `queued` again for a retry or after a lost lease, while the budget lasts.
 * - `succeeded`  terminal, with a result.
 * - `failed`     terminal, with an error: fatal, or the retry budget is spent.
 * - `cancelled`  terminal, by its owner. One that ran keeps its `holder` until the handler has stopped or its lease is over.
 * - `expired`    terminal: it did not start before its deadline.
 */
export type TaskStatus = (typeof taskStatuses)[number];

const terminal: ReadonlySet<TaskStatus> = new Set<TaskStatus>(['succeeded', 'failed', 'cancelled', 'expired']);

/** Those a task may still leave. */
export const openStatuses = ['queued', 'running'] as const satisfies readonly TaskStatus[];

export function isTerminal(status: TaskStatus): boolean {
  return terminal.has(status);
}

/** A file as stored: `key` is its place in the bucket, never made of anything a client named. */
export type StoredFile = {
  readonly field: string;
  readonly name?: string | undefined;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  readonly key: string;
  /** The bucket deletes it after that. */
  readonly keptUntil?: EpochMs | undefined;
};

/** A result as stored: a file, or JSON that is too large for the record. */
export type StoredResult = Pick<StoredFile, 'key' | 'size' | 'sha256' | 'mediaType' | 'name'>;

export type TaskFault = { readonly code: string; readonly message: string };

/** The task item of DynamoDB. `input` and `result` are JSON text. `result` and `resultFile` of a success exclude each other; neither: its time is over. */
export type TaskRecord = {
  readonly tenant: string;
  readonly id: TaskId;
  readonly api: string;
  readonly pool: string;
  readonly status: TaskStatus;
  /** Tries begun; fences every write of a try. */
  readonly attempt: number;
  /** Tries that failed by their own error, counted against the retry budget. */
  readonly failures: number;
  /** Tries whose worker was lost, counted against a budget of their own. */
  readonly lostLeases: number;
  /** Messages of it that ended in the dead-letter queue. */
  readonly burials: number;
  /** Number of the last message that ended there: one that is doubled counts once. */
  readonly buriedSend?: number | undefined;
  /** Nonce of the attempt that runs. */
  readonly holder?: string | undefined;
  readonly deadline: EpochMs;
  readonly dueAt: EpochMs;
  /** Nine of ten tasks in its place start by then: the p90 its client was told, where it was measured. */
  readonly expectedBy?: EpochMs | undefined;
  /** A retry does not start before. */
  readonly runAt?: EpochMs | undefined;
  /** Messages sent or about to be; a message with a lower number is old. */
  readonly sends: number;
  /** Grows with every change a reader can see. */
  readonly revision: number;
  /** Epoch of the Redis data the seats were charged in. */
  readonly epoch: number;
  readonly permits: number;
  /** As charged, widest first. */
  readonly tiers: readonly Tier[];
  /** By rate rules, as estimated when it was admitted. */
  readonly charges?: readonly Charge[] | undefined;
  readonly input: string;
  /** SHA-256 of the part of the input that the fingerprint covers, in RFC 8785 form. */
  readonly inputDigest: string;
  readonly files: readonly StoredFile[];
  readonly dedupKey: string;
  readonly fingerprint: string;
  /** How long after `finishedAt` a success answers duplicates. */
  readonly reuseMs: number;
  readonly createdAt: EpochMs;
  readonly startedAt?: EpochMs | undefined;
  readonly finishedAt?: EpochMs | undefined;
  /** The record, and with it its dedup item, counts as gone from here on. */
  readonly expiresAt: EpochMs;
  readonly progress?: { readonly percent: number; readonly message?: string | undefined } | undefined;
  readonly result?: string | undefined;
  /** In place of `result`, where that is not in the record. */
  readonly resultFile?: StoredResult | undefined;
  /** The result counts as gone from here on, where its api keeps results for less time than the record. */
  readonly resultUntil?: EpochMs | undefined;
  readonly error?: TaskFault | undefined;
  /** Where its end is told to. */
  readonly callbackUrl?: string | undefined;
  /** From its end on, where it has a `callbackUrl`. */
  readonly delivery?: Delivery | undefined;
  /** The dead task that this one does again. */
  readonly redriveOf?: TaskId | undefined;
  /** The task that does this dead one again. */
  readonly redrivenAs?: TaskId | undefined;
};

/**
 * How far the news of a task's end has come; the task's outcome never depends on it.
 *
 * - `pending`    not accepted yet. `nextAt`: not tried again before.
 * - `delivered`  terminal: the receiver answered with 2xx.
 * - `failed`     terminal: refused for good, or tried too often.
 */
export type Delivery = {
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly nextAt?: EpochMs | undefined;
  readonly lastAt?: EpochMs | undefined;
  /** Why the last try failed, in our words; what the receiver wrote is never kept. */
  readonly problem?: string | undefined;
};

/** What a task is as soon as it is admitted: it waits, and its first message is sent at once. */
export function justAdmitted({
  now,
  deadline,
  epoch,
}: Record<'now' | 'deadline', EpochMs> & { readonly epoch: number }) {
  return {
    ...{ status: 'queued', attempt: 0, failures: 0, lostLeases: 0, burials: 0 },
    ...{ deadline, dueAt: now, sends: 1, revision: 1, epoch, createdAt: now },
  } as const satisfies Partial<TaskRecord>;
}

/** A cancelled task's handler goes on until its next heartbeat: until then its slot is taken, though its seat is not. */
export function mayStillRun(record: TaskRecord): record is TaskRecord & { readonly holder: string } {
  return record.status === 'cancelled' && record.holder !== undefined;
}

/** How an attempt or a task ends, as written by `finish`. `dead`: given up after repeats, so it is a dead letter that an operator may redrive. */
export type Outcome =
  | {
      readonly kind: 'succeeded';
      /** JSON text, or where it is stored. */
      readonly result: string | StoredResult;
      readonly resultUntil?: EpochMs | undefined;
    }
  | { readonly kind: 'failed'; readonly error: TaskFault; readonly dead: boolean };

/** A task's last write: when, and whether somebody is to be told. */
export type End = Pick<TaskRecord, 'callbackUrl'> & { readonly finishedAt: EpochMs };

export function endOf({ callbackUrl }: TaskRecord, finishedAt: EpochMs): End {
  return { callbackUrl, finishedAt };
}

/** Judgement of a task that a request's dedup key names: it answers the request, or the request may take its place. */
export type Judgement =
  | { readonly kind: 'joined' }
  | { readonly kind: 'reused'; readonly until: EpochMs }
  | { readonly kind: 'replaceable' };

/** A live task answers; a success answers for `reuseMs` after it finished; anything else never answers. */
export function judge(record: TaskRecord, now: EpochMs): Judgement {
  if (!isTerminal(record.status)) return { kind: 'joined' };
  const until = reusableUntil(record);
  return until !== undefined && now < until ? { kind: 'reused', until } : { kind: 'replaceable' };
}

export function reusableUntil(record: TaskRecord): EpochMs | undefined {
  if (record.status !== 'succeeded' || record.finishedAt === undefined || record.reuseMs === 0) return undefined;
  const until = addMs(record.finishedAt, record.reuseMs);
  return record.resultUntil === undefined || until < record.resultUntil ? until : record.resultUntil;
}

/** The record without a result whose time is over. */
export function withoutOldResult(record: TaskRecord, now: EpochMs): TaskRecord {
  if (record.resultUntil === undefined || now < record.resultUntil) return record;
  return { ...record, result: undefined, resultFile: undefined };
}
