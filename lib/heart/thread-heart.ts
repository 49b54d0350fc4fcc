import { Worker } from 'node:worker_threads';
import { second } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { type Heart, monotonicMs } from '../operations/heartbeat.ts';
import type { Log } from '../ports.ts';
import { Beat } from './beat.ts';
import type { FromThread, ToThread } from './messages.ts';

/** A thread that ended is replaced after this long: one that cannot start must not eat the processor of the handlers. */
const restartMs = second;
/** Its clients need about 15 MB; the rest of the function's memory is for the handlers. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };

/**
 * A heart in a thread of its own (`entry` calls `heartThread`), so that it beats on while a handler blocks this event loop. The thread starts with the
 * first attempt, which does not wait for it, lives as long as the process, and keeps none alive. Should it end, another takes over what it watched.
 */
export function threadHeart(entry: URL, log: Log): Heart {
  const beats = new Map<number, Beat>();
  let thread: Worker | undefined;
  let begun = 0;

  function tell(message: ToThread): void {
    // A thread that has ended takes no message: the next one is told of every beat that goes on.
    thread?.postMessage(message);
  }

  function start(): void {
    thread = new Worker(entry, { name: 'heartbeat', execArgv: [], resourceLimits });
    thread.on('message', (message: FromThread) => hear(beats.get(message.beat), message));
    thread.on('error', (error) => log.error('the heartbeat thread failed', { reason: String(error) }));
    thread.on('exit', () => setTimeout(restart, restartMs).unref());
    // Last: a listener of messages would hold the process again.
    thread.unref();
    for (const [number, beat] of beats) tell(beat.asBegin(number));
  }

  function restart(): void {
    thread = undefined;
    if (beats.size > 0) start();
  }

  return {
    beat(held, onLost) {
      const number = ++begun;
      const beat = new Beat(held, onLost, monotonicMs());
      beats.set(number, beat);
      if (thread === undefined) start();
      else tell(beat.asBegin(number));
      return {
        lost: () => beat.lost,
        stop() {
          if (!beats.delete(number)) return;
          beat.stop();
          tell({ kind: 'stop', beat: number });
        },
      };
    },
  };
}

function hear(beat: Beat | undefined, message: FromThread): void {
  switch (message.kind) {
    case 'beaten':
      beat?.beaten(message.at);
      break;
    case 'lost':
      beat?.lose(message.because);
      break;
    default:
      unreachable(message);
  }
}
