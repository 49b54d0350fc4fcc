import { setTimeout as sleep } from 'node:timers/promises';
import { reconcilePeriodMs } from './times.ts';

const mostAtOnce = 3;

/** Starts reconcile each period, also while a run before it still goes on; in the place of a schedule that has whole minutes. */
export function keepReconciling(reconcile: (signal: AbortSignal) => Promise<unknown>): { stop(): Promise<void> } {
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();
  const start = () => {
    // A run whose process is killed is a run less, as it is in the cloud.
    const run = reconcile(stop.signal)
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => underWay.delete(run));
    underWay.add(run);
  };
  const loop = (async () => {
    while (!stop.signal.aborted) {
      if (underWay.size < mostAtOnce) start();
      await sleep(reconcilePeriodMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stop.abort();
      await Promise.all([loop, ...underWay]);
    },
  };
}
