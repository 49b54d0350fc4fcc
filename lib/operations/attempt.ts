import { stopGraceMs } from '../domain/protocol.ts';
import type { WorkDeps } from './deps.ts';
import { finish, giveUp } from './finish.ts';
import { progressWriter } from './progress.ts';
import { failure, type Ran, timedOut } from './ran.ts';
import { runHandler } from './run-handler.ts';
import type { Held, Worked } from './work.ts';

/** Why the signal was raised where it was not for the attempt's own time: its lease or its task is gone. */
class Stopped extends Error {
  override readonly name = 'Stopped';
}

/** Runs the handler of a started attempt under its heartbeat, writes how it ended, and gives its slots back. */
export async function attempt(deps: WorkDeps, held: Held): Promise<Worked> {
  const stop = new AbortController();
  const task = deps.weir.tasks[held.record.api];
  const progress = progressWriter(deps, held);
  const beat = deps.heart.beat(held, (because) => stop.abort(new Stopped(`the lease is lost: ${because}`)));
  const timer = setTimeout(() => stop.abort(timedOut(task)), task?.timeoutMs ?? 0);
  try {
    const { ran, runaway } = await awaitHandler(stop.signal, runHandler(deps, held, task, stop.signal, progress));
    clearTimeout(timer);
    // The last beat left most of a lease for the last write, and one that comes after the release would only find the lease gone. A runaway may
    // block this event loop before that write: it stays watched to the end of its process.
    if (!runaway) beat.stop();
    await progress.close();
    const gone = beat.lost() && ran.kind === 'failed';
    const worked = gone ? await giveUp(deps, held) : await finish(deps, held, task, ran);
    if (runaway) deps.exit(`the handler of ${held.record.api} goes on ${stopGraceMs} ms after it was told to stop`);
    return worked;
  } finally {
    clearTimeout(timer);
    beat.stop();
  }
}

/** Waits for the handler, but once the signal is raised only for the grace time: then it counts as failed and is a runaway. */
async function awaitHandler(signal: AbortSignal, running: Promise<Ran>): Promise<{ ran: Ran; runaway: boolean }> {
  let grace: NodeJS.Timeout | undefined;
  const overdue = new Promise<{ ran: Ran; runaway: boolean }>((resolve) => {
    const begin = () => {
      grace = setTimeout(() => resolve({ ran: failure(signal.reason), runaway: true }), stopGraceMs);
    };
    signal.addEventListener('abort', begin, { once: true });
  });
  const ended = running.then((ran) => ({
    ran: signal.aborted && ran.kind === 'failed' ? failure(signal.reason) : ran,
    runaway: false,
  }));
  try {
    return await Promise.race([ended, overdue]);
  } finally {
    clearTimeout(grace);
  }
}
