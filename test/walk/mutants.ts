import type { Redis } from 'ioredis';
import { charges } from './mutants/charges.ts';
import { counting } from './mutants/counting.ts';
import { leases } from './mutants/leases.ts';
import { limits } from './mutants/limits.ts';
import { locks } from './mutants/locks.ts';
import type { Mutant } from './mutants/mutant.ts';
import { rates } from './mutants/rates.ts';
import { loadScripts, rewritten, type Scripts, theScripts } from './scripts.ts';
import { type Disagreement, walk } from './walk.ts';

export type { Mutant };

/** Hand-made faults: a walk that does not find one of them does not guard that line. */
export const mutants: readonly Mutant[] = [...counting, ...limits, ...locks, ...leases, ...rates, ...charges];

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

const walks = { seeds: 20, steps: 4_000 };

/** Where the walk of the model and the changed scripts part; undefined where that line is not guarded. */
export async function caught(redis: Redis, mutant: Mutant): Promise<Disagreement | undefined> {
  const scripts = mutate(mutant);
  await loadScripts(redis, scripts);
  for (let seed = 0; seed < walks.seeds; seed++) {
    const found = await walk(seed, { redis, scripts, steps: walks.steps });
    if (found !== undefined) return found;
  }
  return undefined;
}
