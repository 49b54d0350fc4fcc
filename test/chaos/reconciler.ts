import { setTimeout as sleep } from 'node:timers/promises';
import { reconcilePeriodMs } from './times.ts';

const mostAtOnce = 3;

/** One run, and what it answered: its counts, or why there are none. `until` is absent while it goes on. */
export type Run = { readonly at: number; until?: number; answer?: unknown };

/** Starts reconcile each period, also while a run before it still goes on; in the place of a schedule that has whole minutes. */
export function keepReconciling(reconcile: (signal: AbortSignal) => Promise<unknown>): {
  readonly runs: readonly Run[];
  stop(): Promise<void>;
} {
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();
  const runs: Run[] = [];
  const start = () => {
    const run: Run = { at: Date.now() };
    runs.push(run);
    // A run whose process is killed is a run less, as it is in the cloud.
    const running = reconcile(stop.signal)
      .catch((error: unknown) => String(error))
      .then((answer) => {
        Object.assign(run, { until: Date.now(), answer });
        underWay.delete(running);
      });
    underWay.add(running);
  };
  const loop = (async () => {
    while (!stop.signal.aborted) {
      if (underWay.size < mostAtOnce) start();
      await sleep(reconcilePeriodMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  return {
    runs,
    async stop() {
      stop.abort();
      await Promise.all([loop, ...underWay]);
    },
  };
}

/** What runs did from one moment to another, in lines: from when to when after the first, and their answer. */
export function toldRuns(runs: readonly Run[], from: number, to: number): string {
  const seconds = (moment: number) => ((moment - from) / 1_000).toFixed(1);
  return runs
    .filter(({ at, until }) => at < to && (until ?? to) > from)
    .map(({ at, until, answer }) => {
      const mended = typeof answer === 'object' && answer !== null ? onlyPositive(answer) : answer;
      return `\n    reconcile from ${seconds(at)} s to ${until === undefined ? '?' : seconds(until)} s: ${JSON.stringify(mended)}`;
    })
    .join('');
}

function onlyPositive(counts: object): object {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}
