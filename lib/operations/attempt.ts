import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import type { Task } from '../config.ts';
import type { Outcome, StoredFile, TaskFault } from '../domain/task-record.ts';
import { addMs, minute, second } from '../domain/time.ts';
import { maxResultBytes, TaskError, type TaskFile } from '../task.ts';
import type { Deps } from './deps.ts';
import { heartbeat } from './heartbeat.ts';
import { progressWriter } from './progress.ts';
import { keepSeat, releaseEnded, releaseSlots } from './release.ts';
import type { Held, Worked } from './work.ts';

const errorCode = /^[a-z0-9_]{1,64}$/;
/** A handler that was told to stop has this long to do so. */
const stopGraceMs = 2 * second;
const longestRetryMs = 5 * minute;

type Ran =
  | { readonly kind: 'succeeded'; readonly result: string }
  | { readonly kind: 'failed'; readonly error: TaskFault; readonly retryable: boolean };
/** Why the signal was raised: the attempt's own time is over, or its lease or its task is gone. */
class Stopped extends Error {
  override readonly name = 'Stopped';
}

/** Runs the handler of a started attempt under its heartbeat, writes how it ended, and gives its slots back. */
export async function attempt(deps: Deps, held: Held): Promise<Worked> {
  const stop = new AbortController();
  const task = deps.weir.tasks[held.record.api];
  const progress = progressWriter(deps, held);
  const beat = heartbeat(deps, held, () => stop.abort(new Stopped('the lease is lost')));
  const timer = setTimeout(
    () => stop.abort(new TaskError('timeout', timeoutMessage(task), { retryable: true })),
    task?.timeoutMs ?? 0,
  );
  try {
    const { ran, runaway } = await awaitHandler(stop.signal, runHandler(deps, held, task, stop.signal, progress));
    clearTimeout(timer);
    // The last beat left most of a lease for the last write, and one that comes after the release would only find the lease gone.
    beat.stop();
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

/** The lease is lost: the record is somebody else's to write. */
async function giveUp(deps: Deps, { record, key }: Held): Promise<Worked> {
  await releaseSlots(deps, record, key.holder);
  return { kind: 'ack', because: 'lease lost' };
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

async function runHandler(
  deps: Deps,
  { record, key }: Held,
  task: Task | undefined,
  signal: AbortSignal,
  progress: ReturnType<typeof progressWriter>,
): Promise<Ran> {
  try {
    if (task === undefined) throw new TaskError('unknown_api', `no task type ${record.api} in this version`);
    const input = await task.input.safeParseAsync(JSON.parse(record.input));
    if (!input.success) throw new TaskError('invalid_input', 'the input does not fit this version of the task type');
    const value = await task.run({
      input: input.data,
      files: Object.fromEntries(record.files.map((file) => [file.field, taskFile(deps, file)])),
      ctx: {
        taskId: record.id,
        attempt: key.attempt,
        signal,
        progress: progress.report,
        log: (message, fields) => deps.log.info(message, { ...fields, taskId: record.id, attempt: key.attempt }),
      },
    });
    return { kind: 'succeeded', result: resultText(value) };
  } catch (error) {
    if (!isReadable(error))
      deps.log.error('handler failed', { taskId: record.id, api: record.api, reason: describe(error) });
    return failure(error);
  }
}

/** A handler may be written without types. */
function isReadable(error: unknown): error is TaskError {
  return error instanceof TaskError && typeof error.code === 'string' && errorCode.test(error.code);
}

/** What a handler throws without a proper code is for the log, not for the client: its text may hold anything. */
function failure(error: unknown): Extract<Ran, { kind: 'failed' }> {
  if (isReadable(error)) {
    const message = String(error.message).slice(0, 1_000).toWellFormed();
    return { kind: 'failed', error: { code: error.code, message }, retryable: error.retryable === true };
  }
  return { kind: 'failed', error: { code: 'handler_error', message: 'the handler failed' }, retryable: true };
}

function resultText(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw new TaskError('invalid_result', 'the handler returned what JSON cannot hold', { cause: error });
  }
  const size = Buffer.byteLength(text);
  if (size > maxResultBytes)
    throw new TaskError('result_too_large', `the result has ${size} bytes, at most ${maxResultBytes} fit`);
  return text;
}

function taskFile({ files }: Pick<Deps, 'files'>, { key, sha256, name, mediaType, size }: StoredFile): TaskFile {
  return {
    name,
    mediaType,
    size,
    sha256,
    async bytes() {
      const bytes = await files.get(key);
      if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
        throw new TaskError('file_changed', 'the stored file is not the one that was sent');
      }
      return bytes;
    },
  };
}

/** One conditional write, then the slots: the outcome never waits for Redis. A failed try goes back to the queue while its budget lasts. */
async function finish(deps: Deps, held: Held, task: Task | undefined, ran: Ran): Promise<Worked> {
  const { record, key } = held;
  if (ran.kind === 'failed' && ran.retryable && record.failures + 1 < (task?.retry.attempts ?? 1))
    return retry(deps, held, ran.error);
  const outcome: Outcome = ran.kind === 'failed' ? { kind: 'failed', error: ran.error } : ran;
  const written = await deps.records.finish(key, outcome, deps.clock.now());
  if (written.kind === 'written') await releaseEnded(deps, written.record, { nonce: key.holder, served: true });
  else {
    deps.log.warn('a late end was refused', {
      taskId: record.id,
      attempt: key.attempt,
      status: written.record?.status,
    });
    await releaseSlots(deps, record, key.holder);
  }
  return { kind: 'ack', because: written.kind === 'written' ? outcome.kind : 'finish refused' };
}

/** Back to the queue after full-jitter backoff: the seat is kept, the slots are given back, the same message comes again at `runAt`. */
async function retry(deps: Deps, { record, key }: Held, why: TaskFault): Promise<Worked> {
  const afterMs = Math.ceil(Math.random() * Math.min(longestRetryMs, second * 2 ** (record.failures + 1)));
  const runAt = addMs(deps.clock.now(), afterMs);
  const deadline = addMs(runAt, deps.weir.times.startWindowMs);
  await keepSeat(deps, record, deadline);
  const written = await deps.records.requeue(key, 'failed', { runAt, deadline });
  await releaseSlots(deps, record, key.holder);
  if (written.kind === 'refused') return { kind: 'ack', because: 'retry refused' };
  deps.log.info('retry', { taskId: record.id, attempt: key.attempt, code: why.code, afterMs });
  return { kind: 'defer', because: 'retry', afterMs };
}

function timeoutMessage(task: Task | undefined): string {
  return `the attempt took longer than ${task?.timeoutMs ?? 0} ms`;
}

/** Anything can be thrown, also what has no text. */
function describe(error: unknown): string {
  try {
    return inspect(error).slice(0, 4_000);
  } catch {
    return 'something that cannot be shown';
  }
}
