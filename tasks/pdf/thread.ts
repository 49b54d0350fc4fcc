import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { type TaskContext, TaskError } from '../../lib/task.ts';
import { type Made, type Order, perform } from './job.ts';
import { tooComplex } from './too-complex.ts';

type Report =
  | { readonly kind: 'reached'; readonly percent: number; readonly message: string }
  | { readonly kind: 'done'; readonly made: Made }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** Heap and buffers of the thread together. A buffer doubles as it grows, so the process may hold twice this for a moment: half of a 2 GB function. */
const maxMemoryBytes = 500_000_000;
/** Above what is watched, so that the thread is ended by the watch; V8 ends it here when it grows faster. */
const maxHeapMb = 1_000;
const watchMs = 100;
/** Opening the document, or one page of it, must not take longer. Real pages take milliseconds. */
const maxPageMs = 30_000;

/**
 * Converts in a thread of its own, ended in every case before this settles. On the main thread a page that unpacks to gigabytes would block the event
 * loop for minutes: no heartbeat, no timeout, and then the process out of memory. Throws `TaskError` `too_complex` past the ceilings above and `maxMs`.
 */
export async function performInThread(order: Order, maxMs: number, ctx: TaskContext): Promise<Made> {
  ctx.signal.throwIfAborted();
  // A copy of its own, moved into the thread: the caller's bytes may be a view of a larger buffer, which cannot move.
  const bytes = new Uint8Array(order.bytes);
  // The thread runs this file, which in a bundle is a chunk of its own: it is reached by import() only.
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { convertPdf: { ...order, bytes } },
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    execArgv: [],
  });
  const startedAt = performance.now();
  let heardAt = startedAt;
  const ended = Promise.withResolvers<Made>();
  const stop = () => ended.reject(ctx.signal.reason);
  ctx.signal.addEventListener('abort', stop, { once: true });
  thread.on('error', (error) => ended.reject(outOfMemory(error) ? tooMuchMemory(error) : error));
  thread.on('exit', (code) => ended.reject(new Error(`expected a result from the PDF thread, it exited with ${code}`)));
  thread.on('message', (report: Report) => {
    heardAt = performance.now();
    switch (report.kind) {
      case 'reached':
        return ctx.progress(report.percent, report.message);
      case 'done':
        return ended.resolve(report.made);
      case 'failed':
        return ended.reject(new TaskError(report.code, report.message));
    }
  });
  const watch = setInterval(async () => {
    const now = performance.now();
    if (now - heardAt > maxPageMs) ended.reject(tooComplex(`opening it or one page takes more than ${maxPageMs} ms`));
    if (now - startedAt > maxMs) ended.reject(tooComplex(`converting it takes more than ${maxMs} ms`));
    if ((await memoryBytes(thread)) > maxMemoryBytes) ended.reject(tooMuchMemory());
  }, watchMs);
  try {
    return await ended.promise;
  } finally {
    clearInterval(watch);
    ctx.signal.removeEventListener('abort', stop);
    await thread.terminate();
  }
}

/** The thread's side: converts and reports. */
function serve(order: Order, port: MessagePort): void {
  const report = (message: Report) => port.postMessage(message);
  perform(order, (percent, message) => report({ kind: 'reached', percent, message })).then(
    (made) => report({ kind: 'done', made }),
    (error: unknown) => {
      // Anything else is a bug: thrown, it reaches performInThread as the thread's error.
      if (!(error instanceof TaskError)) throw error;
      report({ kind: 'failed', code: error.code, message: error.message });
    },
  );
}

/** Answers also while the thread computes; 0 once it has ended. */
async function memoryBytes(thread: Worker): Promise<number> {
  try {
    const { used_heap_size: heap, external_memory: buffers } = await thread.getHeapStatistics();
    return heap + buffers;
  } catch {
    return 0;
  }
}

function outOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooMuchMemory(cause?: unknown): TaskError {
  return tooComplex(`converting it takes more than ${maxMemoryBytes} bytes of memory`, cause);
}

const { convertPdf }: { convertPdf?: Order } = workerData ?? {};
if (convertPdf !== undefined && parentPort !== null) serve(convertPdf, parentPort);
