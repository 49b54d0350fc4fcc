import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import type { Task } from '../config.ts';
import type { StoredFile } from '../domain/task-record.ts';
import { maxResultBytes, TaskError, type TaskFile } from '../task.ts';
import type { Deps } from './deps.ts';
import type { progressWriter } from './progress.ts';
import { failure, isReadable, type Ran } from './ran.ts';
import type { Held } from './work.ts';

/** Gives a task's handler its input, files and context, and answers how it ended; never throws. */
export async function runHandler(
  deps: Pick<Deps, 'files' | 'log'>,
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

/** Anything can be thrown, also what has no text. */
function describe(error: unknown): string {
  try {
    return inspect(error).slice(0, 4_000);
  } catch {
    return 'something that cannot be shown';
  }
}
