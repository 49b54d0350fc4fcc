import { stopGraceMs } from '../domain/protocol.ts';
import { second } from '../domain/time.ts';
import type { Deps } from './deps.ts';
import type { EndDeps } from './end.ts';
import { finish, giveUp } from './finish.ts';
import { type Beating, type HeartbeatDeps, heartbeat, monotonicMs, type Pulse } from './heartbeat.ts';
import { failure, timedOut } from './ran.ts';
import type { Held } from './work.ts';

/** What the handler's side needs beside its grace time to say that an attempt is over. One that is silent for longer cannot speak. */
const answerMarginMs = second;

export type WatchDeps = HeartbeatDeps & EndDeps & Pick<Deps, 'exit'>;

/** Moments of `monotonicMs`: when the attempt began, and when its lease was last known to be held. */
export type Since = { readonly begunAt: number; readonly goodAt: number };

/**
 * The heartbeat of an attempt from beside its handler, for a handler that may block its event loop. When the attempt's time is over or its lease is
 * lost, the handler's side has its grace time and a margin to `stop` this. If it does not, its event loop is blocked: then the attempt is ended from
 * here (for a time-out its outcome is written as the handler's side would have, for a lost lease its slots are given back) and `exit` ends the
 * process with the handler in it. Should both sides end it at once, one write stands and the other is refused; whoever stopped in time lives on.
 */
export function watch(deps: WatchDeps, held: Held, pulse: Pulse, { begunAt, goodAt }: Since): Beating {
  const { record, key, pool, receiptHandle } = held;
  const task = deps.weir.tasks[record.api];
  let stopped = false;
  let ending = false;

  const end = async () => {
    if (ending) return;
    ending = true;
    beat.stop();
    const facts = { taskId: record.id, attempt: key.attempt };
    const because = beat.lost() ? 'its lease was lost' : 'its time was over';
    try {
      const worked = beat.lost() ? await giveUp(deps, held) : await finish(deps, held, task, failure(timedOut(task)));
      if (worked.kind === 'defer') await deps.messages.setVisibility(pool.name, receiptHandle, worked.afterMs);
    } catch (error) {
      deps.log.warn('the end of a blocked attempt was not written', { ...facts, reason: String(error) });
    }
    if (stopped) return;
    deps.log.error('a handler blocks its event loop', { ...facts, api: record.api, because });
    deps.exit(`the handler of ${record.api} still blocks its event loop ${stopGraceMs} ms after ${because}`);
  };

  const patienceMs = stopGraceMs + answerMarginMs;
  let lostTimer: NodeJS.Timeout | undefined;
  const lost = (because: string) => {
    lostTimer = setTimeout(end, patienceMs);
    pulse.lost(because);
  };
  const beat = heartbeat(deps, held, { ...pulse, lost }, goodAt);
  const overdueAt = begunAt + (task?.timeoutMs ?? 0) + patienceMs;
  const timer = setTimeout(end, Math.max(0, overdueAt - monotonicMs()));

  return {
    lost: beat.lost,
    stop() {
      stopped = true;
      beat.stop();
      clearTimeout(timer);
      clearTimeout(lostTimer);
    },
  };
}
