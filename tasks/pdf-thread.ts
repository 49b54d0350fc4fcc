import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { type TaskContext, TaskError } from '../lib/task.ts';
import { type Order, type PdfText, readPages, tooComplex } from './pdf-pages.ts';

type Report =
  | { readonly kind: 'read'; readonly percent: number; readonly message: string }
  | { readonly kind: 'done'; readonly result: PdfText }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** Heap and buffers of the thread together. A buffer doubles as it grows, so the process may hold twice this for a moment: half of a 2 GB function. */
const maxMemoryBytes = 500_000_000;
/** Above what is watched, so that the thread is ended by the watch; V8 ends it here when it grows faster. */
const maxHeapMb = 1_000;
const watchMs = 100;
/** Opening the document or reading one page must not take longer. Real pages take milliseconds. */
const maxPageMs = 30_000;

/**
 * Reads a PDF in a thread of its own, ended in every case before this settles. On the main thread a page that unpacks to gigabytes would block the event
 * loop for minutes: no heartbeat, no timeout, and then the process out of memory.
 */
export async function readInThread(order: Order, maxReadMs: number, ctx: TaskContext): Promise<PdfText> {
  ctx.signal.throwIfAborted();
  // A copy of its own, moved into the thread: the caller's bytes may be a view of a larger buffer, which cannot move.
  const bytes = new Uint8Array(order.bytes);
  // The thread runs this file, which in a bundle is a chunk of its own: it is reached by import() only.
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { readPdf: { ...order, bytes } },
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    execArgv: [],
  });
  const startedAt = performance.now();
  let heardAt = startedAt;
  const ended = Promise.withResolvers<PdfText>();
  const stop = () => ended.reject(ctx.signal.reason);
  ctx.signal.addEventListener('abort', stop, { once: true });
  thread.on('error', (error) => ended.reject(outOfMemory(error) ? tooMuchMemory(error) : error));
  thread.on('exit', (code) => ended.reject(new Error(`expected a result from the PDF thread, it exited with ${code}`)));
  thread.on('message', (report: Report) => {
    heardAt = performance.now();
    switch (report.kind) {
      case 'read':
        return ctx.progress(report.percent, report.message);
      case 'done':
        return ended.resolve(report.result);
      case 'failed':
        return ended.reject(new TaskError(report.code, report.message));
    }
  });
  const watch = setInterval(async () => {
    const now = performance.now();
    if (now - heardAt > maxPageMs) ended.reject(tooComplex(`opening it or one page takes more than ${maxPageMs} ms`));
    if (now - startedAt > maxReadMs) ended.reject(tooComplex(`reading it takes more than ${maxReadMs} ms`));
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

/** The thread's side: reads and reports. */
function serve(order: Order, port: MessagePort): void {
  const report = (message: Report) => port.postMessage(message);
  readPages(order, (percent, message) => report({ kind: 'read', percent, message })).then(
    (result) => report({ kind: 'done', result }),
    (error: unknown) => {
      // Anything else is a bug: thrown, it reaches readInThread as the thread's error.
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
  return tooComplex(`reading it takes more than ${maxMemoryBytes} bytes of memory`, cause);
}

const { readPdf }: { readPdf?: Order } = workerData ?? {};
if (readPdf !== undefined && parentPort !== null) serve(readPdf, parentPort);
