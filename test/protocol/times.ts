/**
 * Every length of time of the protocol, in seconds and scaled down: what matters is how they relate. All are multiples of five, so that
 * time, which passes in steps of five or to the next expiry, lands exactly on them.
 */
export const times = {
  skew: 5,
  createDeadline: 10,
  startDeadline: 5,
  indexLag: 5,
  rebuildWait: 15,
  rebuildLock: 60,
  lease: 15,
  handlerTimeout: 30,
  period: 30,
  resendAge: 30,
  startWindow: 150,
  decideWithin: 60,
  retryDelay: 15,
  orphan: 30,
  reuse: 30,
  pointer: 600,
  visibility: 60,
  deferral: 10,
  recordKept: 1_000_000,
} as const;

/** "Seats of running and waiting tasks carry two reconcile periods of margin." */
export const seatMargin = 2 * times.period;

export const most = { receives: 3, lostLeases: 2, tries: 2, burials: 3 } as const;
