import type {
  AcquireReply,
  AdmitReply,
  AliveReply,
  ConfirmReply,
  ExtendReply,
  KeepReply,
  Ledger,
  LimitsReply,
  Observation,
  PeekReply,
  PoolTimes,
  RateReply,
  ReleaseReply,
  RestoreReply,
  SettleReply,
  SingleReply,
} from './domain/gate-replies.ts';
import type { Overrides, Paused } from './domain/live-limits.ts';
import type { Charge, RateAsk, RateNumbers } from './domain/rates.ts';
import type { TaskId } from './domain/task-id.ts';
import type { Delivery, End, Outcome, TaskFault, TaskRecord } from './domain/task-record.ts';
import type { Tier, TierLimits } from './domain/tiers.ts';
import type { EpochMs } from './domain/time.ts';
import type { Declared, StoredContent, StoredObject, Upload, UploadKey } from './domain/upload.ts';
import type { WebhookRequest } from './domain/webhook.ts';

/** What of a task the gate needs to find and count its leases. */
export type Claim = {
  readonly tenant: string;
  readonly id: TaskId;
  readonly tiers: readonly Tier[];
  readonly permits: number;
};

/** Redis and its scripts; docs/limits.md has their rules. Every call throws `Unavailable` when no answer came in time: it may still have run. */
export type Gate = {
  peek(input: PeekInput): Promise<PeekReply>;
  admit(input: AdmitInput): Promise<AdmitReply>;
  /** Counts a refusal: `k` is its place among those that wait for a seat of that tier. */
  refuse(input: RefuseInput): Promise<{ readonly k: number }>;
  /** Checks and charges rate rules alone, all or nothing. It is never sent again: after a lost reply it may have charged. */
  rate(input: RateInput): Promise<RateReply>;
  /** Corrects what a task was charged: idempotent, and with `over` for the last time. */
  settle(input: SettleInput): Promise<SettleReply>;
  confirm(input: ConfirmInput): Promise<ConfirmReply>;
  acquire(input: Claim & AcquireInput): Promise<AcquireReply>;
  extend(input: Claim & { nonce: string; leaseMs: number }): Promise<ExtendReply>;
  keep(input: Claim & { until: EpochMs }): Promise<KeepReply>;
  release(input: Claim & ReleaseInput): Promise<ReleaseReply>;
  /** Does this attempt still hold live slots? */
  alive(input: Claim & { nonce: string }): Promise<AliveReply>;
  observe(input: ObserveInput): Promise<Observation>;
  /**
   * Takes the seats of these tasks from every client's tier, whoever that client is: for tasks without a record, of whom nobody knows it. Looks through
   * all of the cell's keys, so it is for what a crash left alone.
   */
  dropClientSeats(tasks: readonly TaskKey[]): Promise<void>;
  /** Tasks one of whose attempts took slots before that and has not released them, whether or not they have lapsed. */
  oldHolders(before: EpochMs): Promise<readonly TaskKey[]>;
  /** One page of a tier's live seats, those that lapse first before the others. */
  seats(input: SeatsInput): Promise<{ readonly now: EpochMs; readonly tasks: readonly TaskKey[] }>;
  ledger(tiers: readonly Tier[]): Promise<Ledger>;
  times(tiers: readonly Tier[]): Promise<PoolTimes[]>;
  /** Puts live limits into force unless newer ones are. */
  setLimits(input: LimitsInput): Promise<LimitsReply>;
  /** Rebuilds after a loss of data: leases one by one, at last the epoch. */
  restore(input: RestoreInput): Promise<RestoreReply>;
  /** Only one of those that ask goes on, for `lastMs`; asked again with the same nonce it lasts longer, with 0 it is over. */
  single(input: { readonly name: string; readonly nonce: string; readonly lastMs: number }): Promise<SingleReply>;
  /** The server's TIME. */
  now(): Promise<EpochMs>;
};

export type PeekInput = { readonly dedupKey: string | undefined; readonly tiers: readonly Tier[] };
export type AdmitInput = Claim & {
  readonly dedupKey: string;
  readonly fingerprint: string;
  readonly replaces?: TaskId | undefined;
  /** Refuse behind more waiting tasks of the pool than this. */
  readonly mostAhead?: number | undefined;
  /**
   * Redis's time past which nothing is done, by default when this call is given up: a server that was frozen runs what it was sent when nobody waits
   * for it any more.
   */
  readonly notAfter?: EpochMs | undefined;
  /** Charged with the seats, or not at all. */
  readonly rates?: readonly RateAsk[] | undefined;
};
/** `asks`: at least one. */
export type RateInput = { readonly asks: readonly RateAsk[] };
/** The charges of one task, and what each should have been (absent: as it is). What an earlier attempt says does not count any more. */
export type SettleInput = {
  readonly id: TaskId;
  readonly charges: readonly Pick<Charge, 'rule' | 'identity'>[];
  readonly amounts: Readonly<Record<string, number>>;
  readonly attempt: number;
  readonly over: boolean;
};
export type RefuseInput = { readonly tier: Tier; readonly everyMs: number };
export type ConfirmInput = { readonly id: TaskId; readonly dedupKey: string; readonly fingerprint: string };

export type AcquireInput = {
  readonly nonce: string;
  readonly attempt: number;
  readonly leaseMs: number;
  readonly deadline: EpochMs;
  readonly seatMs: number;
  readonly epoch: number;
  /** The p90 of its start that the client was told; counted once, so given with the first attempt alone. */
  readonly expectedBy?: EpochMs | undefined;
};

/**
 * `nonce` absent: holds no slots. `served`: the handler came to its end, so its time is one to learn from. `ended`: the seats go too, and the
 * pointer unless it still answers duplicates for `pointerMs`.
 */
export type ReleaseInput = {
  readonly nonce?: string | undefined;
  readonly served?: boolean | undefined;
  readonly dedupKey: string;
  readonly ended?: { readonly pointerMs: number } | undefined;
};

export type ObserveInput = { readonly tiers: readonly Tier[]; readonly of?: TaskKey | undefined };

export type SeatsInput = { readonly tier: Tier; readonly offset: number; readonly count: number };

/** Every live override and every pause, and no other; a tier of kind `tenant` or `ip` stands for all clients, whatever its name. */
export type LimitsInput = {
  readonly version: number;
  readonly overrides: readonly { readonly tier: Tier; readonly limits: TierLimits }[];
  readonly paused: Paused;
  /** Numbers in force of each rule that was changed live. */
  readonly rates?: Readonly<Record<string, RateNumbers>> | undefined;
};

/**
 * `nonce` of the rebuilder, whose lock each call prolongs; only a call with `take` takes it where it is free. `lease` to restore (without `seatUntil` only
 * the slots of its holder) or, at the end, the `epoch` to begin.
 */
export type RestoreInput = {
  readonly nonce: string;
  readonly lockMs: number;
  readonly take?: boolean | undefined;
  readonly epoch?: number | undefined;
  readonly lease?:
    | (Claim & {
        readonly seatUntil: EpochMs | undefined;
        readonly holder?: string | undefined;
        readonly attempt: number;
        readonly leaseMs: number;
      })
    | undefined;
};

/** An answer to a conditional write: `refused` carries the record that stood in its way, if there is one. */
export type Written =
  | { readonly kind: 'written'; readonly record: TaskRecord }
  | { readonly kind: 'refused'; readonly record: TaskRecord | undefined };

export type Created =
  | { readonly kind: 'created' }
  /** The dedup item names this task, whose record the caller judges. */
  | { readonly kind: 'taken'; readonly taskId: TaskId; readonly fingerprint: string };

export type Redriven = Created | { readonly kind: 'gone' };
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
  finish(key: AttemptKey, outcome: Outcome, end: End): Promise<Written>;
  /** Running → queued: for a retry (`failures` + 1) or because its worker was lost (`lostLeases` + 1). */
  requeue(key: AttemptKey, why: 'failed' | 'lost', at: { runAt: EpochMs; deadline: EpochMs }): Promise<Written>;
  /** Queued with this deadline → expired. */
  expire(key: TaskKey & { deadline: EpochMs }, end: End): Promise<Written>;
  /** Any open status → cancelled. It stays among the open tasks, due at `dueAt`, when no slot of it may be left. */
  cancel(key: TaskKey, end: End, dueAt: EpochMs): Promise<Written>;
  /** Queued and buried `burials` times: once more, by message number `send`, and due now. */
  bury(key: TaskKey & { burials: number }, send: number, dueAt: EpochMs): Promise<Written>;
  /** Queued and buried `burials` times: failed, a dead letter. */
  giveUp(key: TaskKey & { burials: number }, error: TaskFault, end: End): Promise<Written>;
  /** A terminal task that is still among the open ones: due again at `dueAt`. */
  lookAgain(key: TaskKey, status: TaskRecord['status'], dueAt: EpochMs): Promise<void>;
  /** A cancelled task of whose attempt nothing is left. */
  forgetHolder(key: TaskKey, holder: string): Promise<Written>;
  /** A terminal task, seen at this revision, of which nothing is left to do: no more among the open ones. */
  close(key: TaskKey, revision: number): Promise<Written>;
  /**
   * After a try to tell of the end: from the delivery that was `seen`. Due again at `next`, or no more among the open tasks, or (`keep`) as it was.
   */
  deliver(key: TaskKey, seen: Delivery, delivery: Delivery, next: EpochMs | 'close' | 'keep'): Promise<Written>;
  /** Consistent reads of at most 100 tasks; those that are absent, expired or written by another version in a form nobody here reads are left out. */
  readMany(keys: readonly TaskKey[]): Promise<TaskRecord[]>;
  /** A tenant's tasks, the latest first, at most `limit`, from an index: perhaps out of date. `range` bounds their ids, both ends included. */
  own(tenant: string, range: { from: string; to: string }, limit: number): Promise<TaskKey[]>;
  /** Dead letters, the latest first, from an index: perhaps out of date. */
  dead(page: PageOf): Promise<{ letters: DeadKey[]; positions?: Positions | undefined }>;
  /** How many dead letters the index has; `atLeast` where it did not count to the end. */
  countDead(): Promise<{ count: number; atLeast: boolean }>;
  /**
   * One transaction: the task that does dead task `dead` again, its dedup item, and the dead one marked with its id and no dead letter any more.
   * `taken`: the dedup item names another task. `gone`: it is no dead letter any more.
   */
  redrive(
    record: TaskRecord,
    options: { dead: TaskId; seen?: TaskId | undefined; deadline: EpochMs },
  ): Promise<Redriven>;
  /** A dead task that another one has replaced already: marked with its id, no dead letter any more. */
  markRedriven(dead: TaskKey, as: TaskId): Promise<Written>;
  /** A message whose body nobody could read; the same twice is kept once. */
  keepUnreadable(message: Unreadable): Promise<void>;
  readUnreadable(id: string): Promise<Unreadable | undefined>;
  readRedrive(): Promise<RedriveJob | undefined>;
  /** False if the stored one is not as `seen` says any more. */
  writeRedrive(job: RedriveJob, seen: Pick<RedriveJob, 'id' | 'changes'> | undefined): Promise<boolean>;
  /** Running and its lease alive: reconcile looks again at `dueAt`. */
  postpone(key: AttemptKey, dueAt: EpochMs): Promise<void>;
  /** Open tasks due by `now`, from the index: keys only, perhaps out of date, read again before acting. One page of one shard. */
  due(shard: number, now: EpochMs, cursor?: Cursor): Promise<{ keys: TaskKey[]; cursor?: Cursor | undefined }>;
  readonly shards: number;
  /** Every open task, due or not: keys only, perhaps out of date. One page of one shard. */
  open(shard: number, cursor?: Cursor): Promise<{ keys: TaskKey[]; cursor?: Cursor | undefined }>;
  /** The epoch this system's Redis data was last given; undefined for a new system. */
  readEpoch(): Promise<number | undefined>;
  /** For a new system: writes its first epoch; false if there is one. */
  createEpoch(epoch: number): Promise<boolean>;
  /** After a loss of data: `epoch` → `epoch` + 1; false if another was first. */
  advanceEpoch(epoch: number): Promise<boolean>;
  /** The live limits in force, or those of an earlier version; undefined where there never were any, or not that version. */
  readLimits(version?: number): Promise<LimitsVersion | undefined>;
  /** Version n + 1 after version n (0: there were none); false if another change came first. Every version is kept. */
  writeLimits(limits: LimitsVersion): Promise<boolean>;
};

/** Live limits as an operator set them: what overrides the configuration, what is paused, and who set it when. */
export type LimitsVersion = {
  readonly version: number;
  readonly overrides: Overrides;
  readonly paused: Paused;
  readonly changedAt: EpochMs;
  readonly changedBy: string;
};
export type Cursor = Readonly<Record<string, unknown>>;
/** Where the reading of each shard stands: its last key, or nothing where it is at its end. */
export type Positions = readonly (Cursor | null)[];
export type PageOf = { readonly limit: number; readonly after?: Positions | undefined };

/** A dead letter: a task that was given up, or a message that nobody could read. */
export type DeadKey = ({ readonly kind: 'task' } & TaskKey) | { readonly kind: 'unreadable'; readonly id: string };
export type Unreadable = {
  /** As SQS named the message. */
  readonly id: string;
  /** The dead-letter queue it was in. */
  readonly queue: string;
  readonly body: string;
  readonly finishedAt: EpochMs;
  readonly expiresAt: EpochMs;
};

/** Which dead tasks: all that are given must fit. `before`: dead since before that moment. */
export type DeadFilter = {
  readonly ids?: readonly TaskId[] | undefined;
  readonly api?: string | undefined;
  readonly pool?: string | undefined;
  readonly tenant?: string | undefined;
  readonly code?: string | undefined;
  readonly after?: EpochMs | undefined;
  readonly before?: EpochMs | undefined;
};

/** The one redrive of a cell, the last or the one under way. `changes` grows with each write. */
export type RedriveJob = {
  readonly id: string;
  readonly changes: number;
  readonly status: 'running' | 'done' | 'stopped';
  readonly filter: DeadFilter;
  readonly perSecond: number;
  readonly startedAt: EpochMs;
  readonly startedBy: string;
  readonly endedAt?: EpochMs | undefined;
  /** New tasks; dead ones whose request another task answers already; those that no limit lets in any more or whose type is gone. */
  readonly redriven: number;
  readonly joined: number;
  readonly refused: number;
  /** In the last pass: those that wait for a limit or for a pool that is paused. */
  readonly held: number;
};

export type TaskMessage = TaskKey & { readonly send: number };

/** SQS: hints to look at a task. */
export type Messages = {
  send(pool: string, message: TaskMessage, group: string): Promise<void>;
  /** The message comes back after `ms` (at most 12 h). */
  setVisibility(pool: string, receiptHandle: string, ms: number): Promise<void>;
  /** Starts reconcile soon, because something is amiss that it mends. */
  wakeReconcile(): Promise<void>;
  /** Has the end of a task told to its callback. */
  announce(key: TaskKey, group: string): Promise<void>;
};

/** What is counted for operators; see docs/operations.md for each. */
export type Metrics = {
  count(name: MetricName, value: number, dimensions?: Readonly<Record<string, string>>): void;
};
export type MetricName =
  | 'tasks_ended_total'
  | 'late_writes_total'
  | 'deferrals_total'
  | 'retries_total'
  | 'reconcile_mended_total'
  | 'burials_total'
  | 'deliveries_total'
  | 'failed_open_total'
  | 'rate_limit_requests_total'
  | 'rate_limit_remaining';

/** What waits in SQS, by pool. `deferred`: messages that are invisible, which are those that run and those that come back later. */
export type Queues = {
  count(): Promise<Readonly<Record<string, { readonly invisible: number; readonly dead: number }>>>;
};

/** DynamoDB: what is known of uploads. Reads are consistent. */
export type Uploads = {
  create(upload: Upload): Promise<void>;
  /** Also one whose time is over: its item stays for a while to say so. */
  read(key: UploadKey): Promise<Upload | undefined>;
  /** A task uses it, if it is there and its time is not over: from then on its object is not deleted with it. */
  keep(key: UploadKey, at: { now: EpochMs; keptUntil: EpochMs }): Promise<{ readonly kind: 'kept' | 'gone' }>;
  /** What was removed. */
  remove(key: UploadKey): Promise<Upload | undefined>;
  readContent(tenant: string, declared: Pick<Declared, 'sha256' | 'size'>): Promise<StoredContent | undefined>;
  writeContent(
    tenant: string,
    declared: Pick<Declared, 'sha256' | 'size'>,
    content: StoredContent,
    expiresAt: EpochMs,
  ): Promise<void>;
};

/** Bytes in memory, or in a file of this machine. */
export type LocalSource =
  | { readonly bytes: Uint8Array; readonly path?: undefined }
  | { readonly path: string; readonly bytes?: undefined };

/** S3: inputs, uploads and large results. */
export type Files = {
  put(key: string, bytes: Uint8Array, about: { mediaType: string; sha256: string }): Promise<void>;
  /** Sent anew where a try had no answer. */
  store(
    key: string,
    source: LocalSource,
    about: { mediaType: string; maxBytes: number },
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: 'stored'; readonly size: number; readonly sha256: string }
    | { readonly kind: 'too_large'; readonly size: number }
  >;
  look(key: string): Promise<StoredObject | undefined>;
  /** The bytes that `look` described, from the first to the last, as they come. */
  open(key: string, signal: AbortSignal): Promise<Opened>;
  /** An uploaded object is no more deleted as unused. */
  keep(key: string): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
};
export type Opened =
  | ({ readonly kind: 'opened'; readonly bytes: AsyncIterable<Uint8Array> } & StoredObject)
  | { readonly kind: 'absent' };

/** URLs that let whoever has them do one thing with one object, for a while. */
export type Links = {
  /** Sends the declared bytes, once, with these very headers. */
  upload(
    key: string,
    declared: Declared,
    forMs: number,
  ): Promise<{ readonly url: string; readonly headers: Readonly<Record<string, string>> }>;
  download(key: string, as: { mediaType: string; disposition: string }, forMs: number): Promise<string>;
};

/**
 * How a post to a callback ended. `answered`: with this status, whatever it is; `retryAfterMs`: how long the receiver wants no other. `refused`: the URL
 * or an address of its host may not be called, nothing was sent. `failed`: no answer, which may be another time. A `problem` is in our words.
 */
export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'refused'; readonly problem: string }
  | { readonly kind: 'failed'; readonly problem: string };

/** The receivers of callbacks. A post never throws and is over within `deliveryDeadlineMs`. */
export type Webhooks = { post(url: string, request: WebhookRequest): Promise<Posted> };

/** The keys that are derived from the one master secret; see domain/signing-keys.ts. */
export type Signing = {
  webhookSecret(tenant: string): Promise<string>;
  hookSecret(source: string): Promise<string>;
  cursorKey(): Promise<Uint8Array>;
};

/** What task types read of their function's environment. */
export type TaskSettings = {
  setting(name: string): string | undefined;
  secret(name: string): Promise<string | undefined>;
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
  readonly service: 'redis' | 'dynamodb' | 'sqs' | 's3' | 'secrets';

  constructor(service: Unavailable['service'], message: string, cause?: unknown) {
    super(`${service}: ${message}`, { cause });
    this.service = service;
  }
}
