import { counting } from './mutants/counting.ts';
import { leases } from './mutants/leases.ts';
import { limits } from './mutants/limits.ts';
import { locks } from './mutants/locks.ts';
import type { Mutant } from './mutants/mutant.ts';
import { rewritten, type Scripts, theScripts } from './scripts.ts';

export type { Mutant };

/** Hand-made faults: a walk that does not find one of them does not guard that line. */
export const mutants: readonly Mutant[] = [...counting, ...limits, ...locks, ...leases];

/** The scripts with the mutant's change. Throws where its text is not found exactly once, so that a stale mutant is noticed. */
export function mutate(mutant: Mutant): Scripts {
  return rewritten(theScripts, (source, call) => {
    if (!mutant.in.includes(call)) return source;
    const parts = source.split(mutant.find);
    if (parts.length !== 2) {
      throw new Error(
        `mutant "${mutant.name}": expected its text once in ${call}.lua, found it ${parts.length - 1} times`,
      );
    }
    return parts.join(mutant.replace);
  });
}
