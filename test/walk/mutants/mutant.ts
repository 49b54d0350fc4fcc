import type { Call } from '../steps.ts';

/** One change to the text of one or several scripts (those that include the changed part), which a walk must find. */
export type Mutant = {
  readonly name: string;
  readonly in: readonly Call[];
  readonly find: string;
  readonly replace: string;
};
