import type { Feature } from './features.ts';

/**
 * The sentences of the protocol that look fussy, each under the name by which the model can undo it, with the invariant its undoing breaks.
 * `none` is said where no invariant breaks: then `why` tells what the sentence is for. `added`: not (or otherwise) in the protocol's text; the checker
 * found that it is needed.
 */
export type Breaks = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'T' | 'none';
type Sentence = {
  readonly undone: string;
  readonly breaks: Breaks;
  readonly why?: string;
  readonly added?: true;
  readonly needs?: readonly Feature[];
};

const sentences = {
  // Posting
  admitNeedsEpoch: { undone: 'admit decides without an epoch', breaks: 'I1' },
  admitAgainIsOwn: {
    undone: 'a re-sent admit sees its own lock as another’s',
    breaks: 'none',
    why: 'the client gets 409 and comes again; the orphan seat heals',
  },
  refusalReadsDedup: { undone: 'a refusal for capacity does not read the dedup item', breaks: 'T' },
  waitPollsDedup: { undone: 'a duplicate waits on the lock’s id', breaks: 'T', needs: ['lose'] },
  createChecksDedup: { undone: 'create does not check the dedup item', breaks: 'I4' },
  timeNeverFreesDedup: { undone: 'time alone frees a dedup item', breaks: 'I4' },
  seenMustBeTerminal: { undone: 'a live task may be replaced', breaks: 'I4' },
  createHasToken: { undone: 'create is repeated without its client token', breaks: 'I1', needs: ['reply'] },
  createIsRepeated: {
    undone: 'create is not repeated on an unknown outcome',
    breaks: 'none',
    why: 'a 503 that need not be',
  },
  unknownReleasesNothing: { undone: 'own seat is released on an unknown create', breaks: 'I1', needs: ['reply'] },
  ownSeatGivenBack: {
    undone: 'own seat is kept when create is refused',
    breaks: 'none',
    why: 'reconcile drops it after orphanMs: room is lost until then',
  },
  createDeadlineFromId: {
    undone: 'the create deadline counts from admit, not from when the id was made',
    breaks: 'I1',
    needs: ['stall'],
    added: true,
  },
  confirmNeverOverAnother: {
    undone: 'confirm replaces another id',
    breaks: 'none',
    why: 'DynamoDB decides, wrong pointers are replaced when read',
  },
  // Working
  hideFirst: { undone: 'the message’s visibility is not set first', breaks: 'none', why: 'a crash is noticed later' },
  notDueIsAcked: { undone: 'a retry may start before runAt', breaks: 'T' },
  acquireChecksDeadline: { undone: 'acquire does not check the start deadline', breaks: 'I1' },
  lateAtTheDeadline: {
    undone: 'late begins after the deadline’s own moment, in which the seat has lapsed',
    breaks: 'I1',
    added: true,
  },
  acquireNeedsEpoch: { undone: 'acquire decides without an epoch', breaks: 'I1' },
  acquirePutsSeatBack: { undone: 'acquire does not put a missing seat back', breaks: 'I1' },
  seatBackUntilDeadline: {
    undone: 'a seat put back lasts for the attempt alone, though its start may never be written',
    breaks: 'I1',
    needs: ['stall'],
    added: true,
  },
  nonceIsForOneLease: {
    undone: 'a re-sent acquire that arrives late revives its lost lease',
    breaks: 'T',
    added: true,
    needs: ['late', 'reply', 'stall'],
  },
  olderEpochMustFit: {
    undone: 'a record of an older epoch gets its seat back even if it does not fit',
    breaks: 'I1',
    needs: ['lose', 'late', 'reply', 'unbounded'],
  },
  oldSendIsAcked: {
    undone: 'a message with an older send number is deferred',
    breaks: 'none',
    why: 'messages of one task add up',
  },
  lastReceiveSetsDue: { undone: 'at the last receive the message is deferred again', breaks: 'T' },
  startChecksAttempt: { undone: 'start does not check attempt', breaks: 'I6', needs: ['twice', 'stall'] },
  startChecksStatus: { undone: 'start does not check the status', breaks: 'I2', needs: ['cancel', 'stall'] },
  startWithinDeadline: {
    undone: 'start later than 5 s after acquire',
    breaks: 'none',
    needs: ['lose', 'stall'],
    why: 'the extend after start finds the lost slot',
  },
  extendAfterStart: { undone: 'no extend after start', breaks: 'I1', needs: ['stall'] },
  extendNeverRevives: { undone: 'extend revives a lost lease', breaks: 'I1' },
  extendOwnNonce: { undone: 'extend takes any nonce', breaks: 'I1', needs: ['stall'] },
  lateBeatStops: {
    undone: 'a handler whose last good heartbeat is a lease old goes on where the epoch is absent',
    breaks: 'T',
    needs: ['lose', 'stall'],
    added: true,
  },
  seatlessReadsRecord: {
    undone: 'a seatless attempt does not read its record',
    breaks: 'none',
    needs: ['cancel'],
    why: 'a cancelled handler works on for nothing',
  },
  finishChecksStatus: { undone: 'finish does not check that the record runs', breaks: 'I2' },
  writesCheckAttempt: { undone: 'writes of an attempt do not check its number', breaks: 'I6', needs: ['stall'] },
  refusedKeepsSeat: { undone: 'a refused finish gives the seat back', breaks: 'I1', needs: ['stall'] },
  releaseOwnNonce: { undone: 'release drops another nonce’s slots', breaks: 'I1', needs: ['stall'] },
  releaseOwnPointer: { undone: 'release deletes a newer task’s pointer', breaks: 'none', why: 'DynamoDB decides' },
  keepBeforeRetry: { undone: 'retry is written before keep', breaks: 'I1', needs: ['stall'] },
  keepBeforePause: { undone: 'pause is written before keep', breaks: 'I1', needs: ['stall', 'crash'] },
  keepBeforeResume: { undone: 'resume does not keep the seat', breaks: 'I1', added: true },
  keepOnlyGrows: { undone: 'keep may shorten a seat', breaks: 'I1', needs: ['late', 'reply', 'stall'] },
  cancelChecksOpen: { undone: 'cancel does not check that the task is open', breaks: 'I2' },
  slotStaysOnCancel: { undone: 'cancel takes the slot of a running handler', breaks: 'I1', needs: ['cancel'] },
  approvalIsNamed: { undone: 'an approval answers whatever is asked', breaks: 'T', needs: ['approve'] },
  resumeChecksStatus: {
    undone: 'an approval is taken a second time, of a queued task, and sets its deadline back',
    breaks: 'I3',
    needs: ['approve', 'reply', 'late'],
  },
  approvalTimesOut: { undone: 'nobody resumes what nobody decided', breaks: 'I3' },
  buryOnlyQueued: { undone: 'bury changes a running or waiting task', breaks: 'T', needs: ['crash', 'twice'] },
  expireChecksDeadline: {
    undone: 'expire checks the status alone, not the deadline that was seen',
    breaks: 'T',
    needs: ['stall', 'twice'],
    added: true,
  },
  // Reconcile
  onlySendWithoutEpoch: { undone: 'reconcile judges leases without an epoch', breaks: 'T', needs: ['lose'] },
  reconcileSendsDue: { undone: 'reconcile does not send what is due', breaks: 'I3', needs: ['purge', 'crash'] },
  sendsCountedFirst: {
    undone: 'sends are counted after sending',
    breaks: 'none',
    why: 'two messages may bear one number; dueAt and the start window catch the rest',
  },
  markChecksSends: {
    undone: 'dueAt moves whatever the status and the number of sends',
    breaks: 'none',
    why: 'reconcile looks one re-send age later at most',
  },
  requeueChecksSlot: { undone: 'reconcile requeues without checking the slot', breaks: 'T' },
  keepBeforeRequeue: { undone: 'reconcile requeues without keep', breaks: 'I1' },
  seatDropReadsRecord: { undone: 'a seat is dropped without reading the record', breaks: 'I1' },
  absentSeatWaits: { undone: 'a seat without a record is dropped at once', breaks: 'I1', needs: ['stall'] },
  orphanAgeWhenRead: {
    undone: 'the id’s age is taken after its record was read',
    breaks: 'I1',
    needs: ['stall', 'reply', 'unbounded'],
  },
  lapsedHolderGoes: {
    undone: 'nobody removes the holder of a lapsed slot',
    breaks: 'I7',
    needs: ['cancel', 'crash'],
    added: true,
  },
  reconcileWritesLimits: {
    undone: 'nobody repeats a change of limits that did not reach Redis',
    breaks: 'I7',
    needs: ['limits', 'crash'],
    added: true,
  },
  // Redis lost its data; live limits
  onlyNewSystemOpensAtOnce: { undone: 'a lost epoch is taken for a new system', breaks: 'I1' },
  firstEpochInDynamoFirst: {
    undone: 'a new system’s epoch is in Redis before DynamoDB knows of it',
    breaks: 'I1',
    added: true,
    needs: ['crash', 'lose', 'new'],
  },
  rebuildWaits: { undone: 'the rebuilder does not wait 15 s', breaks: 'I1', needs: ['lose', 'stall'] },
  rebuildRestoresSeats: { undone: 'the rebuilder does not restore seats', breaks: 'I1', needs: ['lose'] },
  rebuildRestoresSlots: { undone: 'the rebuilder does not restore holders', breaks: 'I1', needs: ['lose'] },
  cancelledSlotIsRestored: {
    undone: 'the rebuilder forgets the handler of a task that was cancelled while it ran',
    breaks: 'I1',
    added: true,
    needs: ['lose', 'cancel'],
  },
  rebuildRestoresLimits: {
    undone: 'the rebuilder does not restore live limits',
    breaks: 'I1',
    needs: ['lose', 'limits'],
  },
  batchesCheckLock: {
    undone: 'the rebuilder’s batches do not check lock and epoch',
    breaks: 'I7',
    needs: ['lose', 'stall'],
  },
  lostLockIsNotRetaken: {
    undone: 'a batch takes the lock anew where it is gone, as after a second loss',
    breaks: 'I1',
    needs: ['lose', 'stall'],
  },
  epochIsLast: { undone: 'the new epoch is written before the leases', breaks: 'I1', needs: ['lose'] },
  limitsDynamoFirst: { undone: 'live limits are written to Redis first', breaks: 'I7', needs: ['limits', 'crash'] },
  limitsOnlyIfNewer: { undone: 'older live limits replace newer ones', breaks: 'I1', needs: ['limits'] },
} as const satisfies Record<string, Sentence>;

export type Rule = keyof typeof sentences;
export const rules: Readonly<Record<Rule, Sentence>> = sentences;
