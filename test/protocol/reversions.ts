import type { Move } from './moves.ts';
import { type Rule, rules } from './rules.ts';
import { walk } from './walk.ts';
import type { Setup } from './world.ts';

export type Found = {
  readonly invariant: string;
  readonly why: string;
  readonly seed: number;
  readonly setup: Setup;
  readonly moves: readonly Move[];
};
export type Reversion = { readonly rule: Rule; readonly steps: number; readonly found: Found | undefined };

export const allRules = Object.keys(rules) as Rule[];

/** Undoes one sentence and walks until the invariant it is said to guard breaks (any, where none is) or `mostSteps` are made. */
export function revert(rule: Rule, mostSteps: number, seed = 0): Reversion {
  const reverted = new Set([rule]);
  let steps = 0;
  for (let at = seed; steps < mostSteps; at++) {
    const made = walk(at, { reverted, length: 300, needs: rules[rule].needs ?? [], seen: () => steps++ });
    const { violation } = made.world;
    const { breaks } = rules[rule];
    if (violation !== undefined && (breaks === 'none' || breaks === violation.invariant)) {
      return { rule, steps, found: { ...violation, seed: at, setup: made.setup, moves: made.moves } };
    }
  }
  return { rule, steps, found: undefined };
}

/** A sentence said to break an invariant must be found to break one; one said to break none must not. */
export function isAsSaid({ rule, found }: Reversion): boolean {
  return rules[rule].breaks === 'none' ? found === undefined : found !== undefined;
}
