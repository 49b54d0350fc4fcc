import type { Task } from '../config.ts';
import type { StoredResult, TaskFault } from '../domain/task-record.ts';
import { TaskError } from '../task.ts';

const errorCode = /^[a-z0-9_]{1,64}$/;

/** How a handler ended. */
export type Ran =
  /** JSON text, or where it is stored. */
  | { readonly kind: 'succeeded'; readonly result: string | StoredResult }
  | {
      readonly kind: 'failed';
      readonly error: TaskFault;
      readonly retryable: boolean;
      /** Not before, by the handler's own word. */
      readonly retryAfterMs?: number | undefined;
    };

/** The error of an attempt that outlasted its own time. */
export function timedOut(task: Task | undefined): TaskError {
  return new TaskError('timeout', `the attempt took longer than ${task?.timeoutMs ?? 0} ms`, { retryable: true });
}

/** A handler may be written without types. */
export function isReadable(error: unknown): error is TaskError {
  return error instanceof TaskError && typeof error.code === 'string' && errorCode.test(error.code);
}

/** What a handler throws without a proper code is for the log, not for the client: its text may hold anything. */
export function failure(error: unknown): Extract<Ran, { kind: 'failed' }> {
  if (isReadable(error)) {
    const message = String(error.message).slice(0, 1_000).toWellFormed();
    const { code, retryAfterMs } = error;
    const wait = typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? { retryAfterMs } : {};
    return { kind: 'failed', error: { code, message }, retryable: error.retryable === true, ...wait };
  }
  return { kind: 'failed', error: { code: 'handler_error', message: 'the handler failed' }, retryable: true };
}
