import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { defineTask, TaskError, type TaskFile } from '../lib/task.ts';

const input = z.strictObject({
  ms: z.int().min(0).max(100_000).default(500),
  tag: z.string().max(1_000).optional(),
  failTimes: z.int().min(0).max(100).default(0),
  failWith: z.enum(['retryable', 'fatal']).default('retryable'),
  cpuMs: z.int().min(0).max(30_000).default(0),
  resultBytes: z.int().min(0).max(10_000_000).default(0),
  progressSteps: z.int().min(0).max(1_000).default(0),
  ignoreAbort: z.boolean().default(false),
});

/**
 * Does as it is told: reads its `document` if it has one, uses CPU for `cpuMs`, sleeps for `ms`, fails, reports progress. For trying limits and for load. It stops when it is aborted; with
 * `ignoreAbort` it goes on, and uses its CPU in one piece, which blocks the event loop as a synchronous library would.
 */
export default defineTask({
  api: 'examples/probe',
  pool: 'examples',
  input,
  files: {
    document: {
      mediaTypes: ['application/octet-stream', 'application/pdf', 'text/plain'],
      maxBytes: 5_000_000_000,
      required: false,
    },
  },
  timeoutMs: 140_000,
  retry: { attempts: 3 },
  async run({ input: probe, files: { document }, ctx }) {
    const read = document && (await readAll(document));
    if (probe.ignoreAbort) spin(probe.cpuMs);
    else await burn(probe.cpuMs, ctx.signal);
    const steps = Math.max(1, probe.progressSteps);
    for (let step = 1; step <= steps; step++) {
      await sleep(probe.ms / steps, undefined, { signal: probe.ignoreAbort ? undefined : ctx.signal });
      if (probe.progressSteps > 0) ctx.progress((100 * step) / steps, `step ${step} of ${steps}`);
    }
    if (ctx.attempt <= probe.failTimes) {
      const message = `told to fail ${probe.failTimes} times, this is attempt ${ctx.attempt}`;
      throw new TaskError('probe_failed', message, { retryable: probe.failWith === 'retryable' });
    }
    return {
      slept: probe.ms,
      attempt: ctx.attempt,
      tag: probe.tag,
      document: read,
      filler: 'x'.repeat(probe.resultBytes),
    };
  },
});

/** Reads it to its end, whatever its size; reading checks that these are the bytes that were sent. */
async function readAll({ stream, size, sha256, mediaType }: TaskFile) {
  let read = 0;
  for await (const bytes of stream()) read += bytes.length;
  return { size, read, sha256, mediaType };
}

/** In slices between which the event loop turns, so that an abort is heard. */
async function burn(cpuMs: number, signal: AbortSignal): Promise<void> {
  const end = performance.now() + cpuMs;
  while (performance.now() < end) {
    spin(Math.min(50, end - performance.now()));
    await sleep(0, undefined, { signal });
  }
}

/** In one piece: nothing else runs in this thread meanwhile. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
