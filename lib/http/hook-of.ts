import type { Weir } from '../config.ts';
import type { Hook } from '../hook-schema.ts';
import { ProblemError } from './problem.ts';

/** The hook of a source; throws 404 where there is none. */
export function hookOf({ weir }: { readonly weir: Pick<Weir, 'hooks'> }, source = ''): Hook {
  const hook = Object.hasOwn(weir.hooks, source) ? weir.hooks[source] : undefined;
  if (hook !== undefined) return hook;
  throw new ProblemError({
    status: 404,
    code: 'unknown_hook',
    title: 'There is no such hook',
    detail: `No hook of the configuration has the source ${JSON.stringify(source.slice(0, 64))}.`,
  });
}
