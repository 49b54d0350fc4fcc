import { parentPort } from 'node:worker_threads';
import { unreachable } from '../domain/unreachable.ts';
import type { Beating } from '../operations/heartbeat.ts';
import { type WatchDeps, watch } from '../operations/watch.ts';
import { writeDirectly } from './direct-output.ts';
import type { FromThread, ToThread } from './messages.ts';

/** The thread's side: watches every attempt it is told of until it is told to stop. */
export function heartThread(deps: WatchDeps): void {
  const port = parentPort;
  if (port === null) throw new Error('expected to run in a thread of a worker');
  writeDirectly();
  const tell = (message: FromThread) => port.postMessage(message);
  const watches = new Map<number, Beating>();
  port.on('message', (message: ToThread) => {
    const { beat } = message;
    switch (message.kind) {
      case 'begin': {
        const pulse = {
          beat: (at: number) => tell({ kind: 'beaten', beat, at }),
          lost: (because: string) => tell({ kind: 'lost', beat, because }),
        };
        watches.set(beat, watch(deps, message.held, pulse, message));
        break;
      }
      case 'stop':
        watches.get(beat)?.stop();
        watches.delete(beat);
        break;
      default:
        unreachable(message);
    }
  });
}
