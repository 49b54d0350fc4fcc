import type { WorkDeps } from '../../lib/operations/deps.ts';
import { withHeart } from './heart.ts';

export class Crashed extends Error {}

/**
 * A process that dies at its `at`-th call to a service: just before it, or just after it was carried out but before its answer came. From then on nothing
 * this process does has any effect. `calls()` tells how many were made, so that a test can die at each in turn.
 */
export function dying(at: number, when: 'before' | 'after') {
  let calls = 0;
  const wrap = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          const call = ++calls;
          if (call > at || (call === at && when === 'before')) throw new Crashed(`before ${String(name)}`);
          const answer: unknown = await member.apply(target, args);
          if (call === at) throw new Crashed(`after ${String(name)}`);
          return answer;
        };
      },
    });
  return { wrap, calls: () => calls };
}

/** Does `deed` in a process that dies at its `at`-th call, if it makes as many; says whether it did. */
export async function diesAt<All extends WorkDeps>(
  deps: All,
  at: number,
  when: 'before' | 'after',
  deed: (deps: All) => Promise<unknown>,
): Promise<boolean> {
  const mortal = crashing(deps, at, when);
  await deed(mortal.deps).catch((error: unknown) => {
    if (!(error instanceof Crashed)) throw error;
  });
  return mortal.calls() >= at;
}

/** The same dependencies in such a process. */
export function crashing<All extends WorkDeps>(
  deps: All,
  at: number,
  when: 'before' | 'after',
): { deps: All; calls(): number } {
  const { wrap, calls } = dying(at, when);
  return {
    deps: withHeart({
      ...deps,
      gate: wrap(deps.gate),
      records: wrap(deps.records),
      messages: wrap(deps.messages),
      files: wrap(deps.files),
    }),
    calls,
  };
}
