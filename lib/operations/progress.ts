import { second } from '../domain/time.ts';
import type { Deps } from './deps.ts';
import type { Held } from './work.ts';

type Progress = { percent: number; message?: string };

/** Writes what a handler reports, at most once a second; of what comes faster the last is written. `close` writes nothing more. */
export function progressWriter(deps: Pick<Deps, 'records' | 'log' | 'metrics'>, { key }: Pick<Held, 'key'>) {
  let waiting: Progress | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<unknown> = Promise.resolve();

  function write(): void {
    const progress = waiting;
    timer = undefined;
    if (progress === undefined) return;
    waiting = undefined;
    writing = deps.records.progress(key, progress).then(
      ({ kind }) => kind === 'refused' && deps.metrics.count('late_writes_total', 1, { write: 'progress' }),
      (error: unknown) => deps.log.warn('progress was not written', { taskId: key.id, reason: String(error) }),
    );
    timer = setTimeout(write, second);
  }

  return {
    report(percent: number, message?: string): void {
      const bounded = Math.round(Math.min(100, Math.max(0, Number.isFinite(percent) ? percent : 0)));
      waiting = {
        percent: bounded,
        ...(typeof message === 'string' ? { message: message.slice(0, 200).toWellFormed() } : {}),
      };
      if (timer === undefined) write();
    },
    /** Resolves when no write of this attempt is on its way. */
    async close(): Promise<void> {
      waiting = undefined;
      clearTimeout(timer);
      await writing;
    },
  };
}
