/**
 * The sentences of the protocol that look fussy, each under the name by which the model can undo it, with the invariant its undoing breaks.
 * `none` is said where no invariant breaks: then `why` tells what the sentence is for. `added`: not (or otherwise) in the protocol's text; the checker
 * found that it is needed.
 */
export type Breaks = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'T' | 'none';
type Sentence = { readonly undone: string; readonly breaks: Breaks; readonly why?: string; readonly added?: true };

export const rules = {
  // Posting
  admitNeedsEpoch: { undone: 'admit decides without an epoch', breaks: 'I1' },
  admitAgainIsOwn: {
    undone: 'a re-sent admit sees its own lock as another’s',
    breaks: 'none',
    why: 'the client gets 409 and comes again; the orphan seat heals',
  },
  refusalReadsDedup: { undone: 'a refusal for capacity does not read the dedup item', breaks: 'T' },
  waitPollsDedup: { undone: 'a duplicate waits on the lock’s id', breaks: 'T' },
  createChecksDedup: { undone: 'create does not check the dedup item', breaks: 'I4' },
  timeNeverFreesDedup: { undone: 'time alone frees a dedup item', breaks: 'I4' },
  seenMustBeTerminal: { undone: 'a live task may be replaced', breaks: 'I4' },
  createHasToken: { undone: 'create is repeated without its client token', breaks: 'I1' },
  createIsRepeated: {
    undone: 'create is not repeated on an unknown outcome',
    breaks: 'none',
    why: 'a 503 that need not be',
  },
  unknownReleasesNothing: { undone: 'own seat is released on an unknown create', breaks: 'I1' },
  ownSeatGivenBack: {
    undone: 'own seat is kept when create is refused',
    breaks: 'none',
    why: 'reconcile drops it after orphanMs: room is lost until then',
  },
  createDeadlineFromId: {
    undone: 'the create deadline counts from admit, not from when the id was made',
    breaks: 'I1',
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
    added: true,
  },
  nonceIsForOneLease: {
    undone: 'a re-sent acquire that arrives late revives its lost lease',
    breaks: 'T',
    added: true,
  },
  olderEpochMustFit: { undone: 'a record of an older epoch gets its seat back even if it does not fit', breaks: 'I1' },
  oldSendIsAcked: {
    undone: 'a message with an older send number is deferred',
    breaks: 'none',
    why: 'messages of one task add up',
  },
  lastReceiveSetsDue: { undone: 'at the last receive the message is deferred again', breaks: 'T' },
  startChecksAttempt: { undone: 'start does not check attempt', breaks: 'I6' },
  startChecksStatus: { undone: 'start also takes a running record over', breaks: 'I6' },
  startWithinDeadline: {
    undone: 'start later than 5 s after acquire',
    breaks: 'none',
    why: 'the extend after start finds the lost slot',
  },
  extendAfterStart: { undone: 'no extend after start', breaks: 'I1' },
  extendNeverRevives: { undone: 'extend revives a lost lease', breaks: 'I1' },
  extendOwnNonce: { undone: 'extend takes any nonce', breaks: 'I1' },
  lateBeatStops: {
    undone: 'a handler whose last good heartbeat is a lease old goes on where the epoch is absent',
    breaks: 'T',
    added: true,
  },
  seatlessReadsRecord: {
    undone: 'a seatless attempt does not read its record',
    breaks: 'none',
    why: 'a cancelled handler works on for nothing',
  },
  finishChecksStatus: { undone: 'finish does not check that the record runs', breaks: 'I2' },
  writesCheckAttempt: { undone: 'writes of an attempt do not check its number', breaks: 'I6' },
  refusedKeepsSeat: { undone: 'a refused finish gives the seat back', breaks: 'I1' },
  releaseOwnNonce: { undone: 'release drops another nonce’s slots', breaks: 'I1' },
  releaseOwnPointer: { undone: 'release deletes a newer task’s pointer', breaks: 'none', why: 'DynamoDB decides' },
  keepBeforeRetry: { undone: 'retry is written before keep', breaks: 'I1' },
  keepBeforePause: { undone: 'pause is written before keep', breaks: 'I1' },
  keepBeforeResume: { undone: 'resume does not keep the seat', breaks: 'I1', added: true },
  keepOnlyGrows: { undone: 'keep may shorten a seat', breaks: 'I1' },
  cancelChecksOpen: { undone: 'cancel does not check that the task is open', breaks: 'I2' },
  slotStaysOnCancel: { undone: 'cancel takes the slot of a running handler', breaks: 'I1' },
  approvalIsNamed: { undone: 'an approval answers whatever is asked', breaks: 'T' },
  resumeChecksStatus: { undone: 'an approval is taken twice', breaks: 'none' },
  approvalTimesOut: { undone: 'nobody resumes what nobody decided', breaks: 'I3' },
  buryOnlyQueued: { undone: 'bury changes a running or waiting task', breaks: 'T' },
  expireChecksDeadline: {
    undone: 'expire checks the status alone, not the deadline that was seen',
    breaks: 'T',
    added: true,
  },
  // Reconcile
  onlySendWithoutEpoch: { undone: 'reconcile judges leases without an epoch', breaks: 'T' },
  reconcileSendsDue: { undone: 'reconcile does not send what is due', breaks: 'I3' },
  sendsCountedFirst: { undone: 'sends are counted after sending', breaks: 'none' },
  markChecksSends: { undone: 'dueAt moves whatever the status and the number of sends', breaks: 'none' },
  requeueChecksSlot: { undone: 'reconcile requeues without checking the slot', breaks: 'T' },
  keepBeforeRequeue: { undone: 'reconcile requeues without keep', breaks: 'I1' },
  seatDropReadsRecord: { undone: 'a seat is dropped without reading the record', breaks: 'I1' },
  absentSeatWaits: { undone: 'a seat without a record is dropped at once', breaks: 'I1' },
  orphanAgeWhenRead: { undone: 'the id’s age is taken after its record was read', breaks: 'I1' },
  lapsedHolderGoes: { undone: 'nobody removes the holder of a lapsed slot', breaks: 'I7', added: true },
  reconcileWritesLimits: {
    undone: 'nobody repeats a change of limits that did not reach Redis',
    breaks: 'I7',
    added: true,
  },
  // Redis lost its data; live limits
  onlyNewSystemOpensAtOnce: { undone: 'a lost epoch is taken for a new system', breaks: 'I1' },
  rebuildWaits: { undone: 'the rebuilder does not wait 15 s', breaks: 'I1' },
  rebuildRestoresSeats: { undone: 'the rebuilder does not restore seats', breaks: 'I1' },
  rebuildRestoresSlots: { undone: 'the rebuilder does not restore holders', breaks: 'I1' },
  rebuildRestoresLimits: { undone: 'the rebuilder does not restore live limits', breaks: 'I1' },
  batchesCheckLock: { undone: 'the rebuilder’s batches do not check lock and epoch', breaks: 'I1' },
  epochIsLast: { undone: 'the new epoch is written before the leases', breaks: 'I1' },
  limitsDynamoFirst: { undone: 'live limits are written to Redis first', breaks: 'I7' },
  limitsOnlyIfNewer: { undone: 'older live limits replace newer ones', breaks: 'I1' },
} as const satisfies Record<string, Sentence>;

export type Rule = keyof typeof rules;
