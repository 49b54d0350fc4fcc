import { writeSync } from 'node:fs';

/**
 * From now on what this thread writes goes straight to the process's own outputs. By itself it goes through the main thread: not at all while that is
 * blocked, and never once the process was killed for it.
 */
export function writeDirectly(): void {
  for (const [fd, stream] of [
    [1, process.stdout],
    [2, process.stderr],
  ] as const) {
    const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
      try {
        if (typeof chunk === 'string') writeSync(fd, chunk);
        else writeSync(fd, chunk);
      } catch {
        // A pipe that is full or closed: a line is lost, the work goes on.
      }
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    };
    stream.write = write;
  }
}
