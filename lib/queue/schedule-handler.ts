import middy from '@middy/core';
import type { Deps } from '../operations/deps.ts';
import { type Reconciled, reconcile } from '../operations/reconcile.ts';

/** Called each minute; logs and returns what the run mended. */
export function scheduleHandler(deps: Omit<Deps, 'files'>) {
  return middy<unknown, Reconciled>().handler(async () => {
    const counts = await reconcile(deps);
    deps.log.info('reconciled', counts);
    return counts;
  });
}
