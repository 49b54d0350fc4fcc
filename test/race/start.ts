import type { Place } from '../support/process-deps.ts';

/** What each process of a race is told before it may post. */
export type Start = Place & {
  /** Tasks that pool `p` takes in. */
  readonly limit: number;
  /** By a rate rule in place of the pool, which has room for all of them then. */
  readonly by: 'pool' | 'rule';
};
