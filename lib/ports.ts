import type {
  AcquireReply,
  AdmitReply,
  AliveReply,
  ConfirmReply,
  ExtendReply,
  KeepReply,
  Observation,
  PeekReply,
  ReleaseReply,
} from './domain/gate-replies.ts';
import type { TaskId } from './domain/task-id.ts';
import type { Outcome, TaskFault, TaskRecord } from './domain/task-record.ts';
import type { Tier } from './domain/tiers.ts';
import type { EpochMs } from './domain/time.ts';

/** What of a task the gate needs to find and count its leases. */
export type Claim = {
  readonly tenant: string;
  readonly id: TaskId;
  readonly tiers: readonly Tier[];
  readonly permits: number;
};

/** Redis and its scripts; LIMITS.md has their rules. Every call throws `Unavailable` when no answer came in time: it may still have run. */
export type Gate = {
  peek(input: { dedupKey: string | undefined; tiers: readonly Tier[] }): Promise<PeekReply>;
  admit(input: Claim & { dedupKey: string; fingerprint: string; replaces?: TaskId | undefined }): Promise<AdmitReply>;
  confirm(input: { id: TaskId; dedupKey: string; fingerprint: string }): Promise<ConfirmReply>;
  acquire(input: Claim & AcquireInput): Promise<AcquireReply>;
  extend(input: Claim & { nonce: string; leaseMs: number }): Promise<ExtendReply>;
  keep(input: Claim & { until: EpochMs }): Promise<KeepReply>;
  release(input: Claim & ReleaseInput): Promise<ReleaseReply>;
  /** Does this attempt still hold live slots? */
  alive(input: Claim & { nonce: string }): Promise<AliveReply>;
  observe(tiers: readonly Tier[]): Promise<Observation>;
  /** Writes the epoch unless one is there. */
  beginEpoch(epoch: number): Promise<void>;
  /** The server's TIME. */
  now(): Promise<EpochMs>;
};

export type AcquireInput = {
  readonly nonce: string;
  readonly leaseMs: number;
  readonly deadline: EpochMs;
  readonly seatMs: number;
  readonly epoch: number;
  readonly pool: string;
};

/** `nonce` absent: holds no slots. `ended`: the seats go too, and the pointer unless it still answers duplicates for `pointerMs`. */
export type ReleaseInput = {
  readonly nonce?: string | undefined;
  readonly dedupKey: string;
  readonly ended?: { readonly pointerMs: number } | undefined;
};

/** An answer to a conditional write: `refused` carries the record that stood in its way, if there is one. */
export type Written =
  | { readonly kind: 'written'; readonly record: TaskRecord }
  | { readonly kind: 'refused'; readonly record: TaskRecord | undefined };

export type Created =
  | { readonly kind: 'created' }
  /** The dedup item names this task, whose record the caller judges. */
  | { readonly kind: 'taken'; readonly taskId: TaskId; readonly fingerprint: string };

export type DedupItem = { readonly taskId: TaskId; readonly fingerprint: string };
export type TaskKey = { readonly tenant: string; readonly id: TaskId };
/** One attempt: the writes it may make are those of a task that runs under this number and nonce. */
export type AttemptKey = TaskKey & { readonly attempt: number; readonly holder: string };

/** DynamoDB: the truth. Reads are consistent and treat what has expired as absent. Throws `Unavailable` when the outcome stays unknown. */
export type Records = {
  read(key: TaskKey): Promise<TaskRecord | undefined>;
  readDedup(dedupKey: string): Promise<DedupItem | undefined>;
  /** One transaction: task item and dedup item. `seen`: the terminal task whose place is taken. Repeated until `deadline` while unknown. */
  create(record: TaskRecord, options: { seen?: TaskId | undefined; deadline: EpochMs }): Promise<Created>;
  /** After a send: `dueAt` moves, if still queued with the same number of sends. */
  markSent(key: TaskKey, sends: number, dueAt: EpochMs): Promise<void>;
  /** Before a send by reconcile: still queued with `sends`; counts one more. */
  countSend(key: TaskKey, sends: number): Promise<Written>;
  /** Still queued: due now, so that reconcile sends it. */
  setDue(key: TaskKey, dueAt: EpochMs): Promise<Written>;
  start(
    key: AttemptKey,
    at: { startedAt: EpochMs; deadline: EpochMs; dueAt: EpochMs; epoch: number },
  ): Promise<Written>;
  progress(key: AttemptKey, progress: { percent: number; message?: string }): Promise<Written>;
  finish(key: AttemptKey, outcome: Outcome, finishedAt: EpochMs): Promise<Written>;
  /** Running → queued: for a retry (`failures` + 1) or because its worker was lost (`lostLeases` + 1). */
  requeue(key: AttemptKey, why: 'failed' | 'lost', at: { runAt: EpochMs; deadline: EpochMs }): Promise<Written>;
  /** Queued → expired. */
  expire(key: TaskKey, finishedAt: EpochMs): Promise<Written>;
  /** Running and its lease alive: reconcile looks again at `dueAt`. */
  postpone(key: AttemptKey, dueAt: EpochMs): Promise<void>;
  /** Open tasks due by `now`, from the index: keys only, perhaps out of date, read again before acting. One page of one shard. */
  due(shard: number, now: EpochMs, cursor?: Cursor): Promise<{ keys: TaskKey[]; cursor?: Cursor | undefined }>;
  readonly shards: number;
  /** The epoch this system's Redis data was last given, and whether Redis surely got it; undefined for a new system. */
  readEpoch(): Promise<{ epoch: number; begun: boolean } | undefined>;
  /** Writes an epoch that has not begun, unless there is one. */
  prepareEpoch(epoch: number): Promise<void>;
  markEpochBegun(epoch: number): Promise<void>;
};
export type Cursor = Readonly<Record<string, unknown>>;

export type TaskMessage = TaskKey & { readonly send: number };

/** SQS: hints to look at a task. */
export type Messages = {
  send(pool: string, message: TaskMessage, group: string): Promise<void>;
  /** The message comes back after `ms` (at most 12 h). */
  setVisibility(pool: string, receiptHandle: string, ms: number): Promise<void>;
};

export type DeadLetters = { count(): Promise<Readonly<Record<string, number>>> };

/** S3: inputs and, later, large results. */
export type Files = {
  put(key: string, bytes: Uint8Array, about: { mediaType: string; sha256: string }): Promise<void>;
  get(key: string): Promise<Uint8Array>;
  remove(keys: readonly string[]): Promise<void>;
};

export type Clock = { now(): EpochMs; sleep(ms: number): Promise<void> };

export type Log = {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
};

/** A service gave no answer within its time. Whether it acted is unknown. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
  readonly service: 'redis' | 'dynamodb' | 'sqs' | 's3';

  constructor(service: Unavailable['service'], message: string, cause?: unknown) {
    super(`${service}: ${message}`, { cause });
    this.service = service;
  }
}

export type { TaskFault };
