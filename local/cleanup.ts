import { messageOf } from './stack-error.ts';

export type Cleanup = {
  /** Registers what must be undone at the end. When the end has already come it is undone at once. */
  defer(undo: () => Promise<void> | void): void;
  /** Undoes everything, the last first; a second call waits for the first. A step that throws is reported and passed. */
  run(): Promise<void>;
};

export function createCleanup(log: (line: string) => void): Cleanup {
  const steps: (() => Promise<void> | void)[] = [];
  let running: Promise<void> | undefined;

  const attempt = async (undo: () => Promise<void> | void) => {
    try {
      await undo();
    } catch (error) {
      log(`while stopping: ${messageOf(error)}`);
    }
  };
  const runAll = async () => {
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) await attempt(step);
  };
  return {
    defer(undo) {
      if (running === undefined) steps.push(undo);
      else running = running.then(() => attempt(undo));
    },
    async run() {
      running ??= runAll();
      let seen: Promise<void>;
      do {
        seen = running;
        await seen;
      } while (seen !== running);
    },
  };
}
