import { inspect } from 'node:util';
import type { Task } from '../config.ts';
import { TaskError } from '../task.ts';
import type { WorkDeps } from './deps.ts';
import { handlerCosts } from './handler-costs.ts';
import type { progressWriter } from './progress.ts';
import { failure, isReadable, type Ran } from './ran.ts';
import { storeResult } from './store-result.ts';
import { TaskFiles } from './task-files.ts';
import type { Held } from './work.ts';

/** Gives a task's handler its input, files and context, and answers how it ended; never throws. */
export async function runHandler(
  deps: Pick<WorkDeps, 'files' | 'gate' | 'log' | 'taskSettings'>,
  { record, key }: Held,
  task: Task | undefined,
  signal: AbortSignal,
  progress: ReturnType<typeof progressWriter>,
): Promise<Ran> {
  try {
    if (task === undefined) throw new TaskError('unknown_api', `no task type ${record.api} in this version`);
    const input = await task.input.safeParseAsync(JSON.parse(record.input));
    if (!input.success) throw new TaskError('invalid_input', 'the input does not fit this version of the task type');
    const files = new TaskFiles(deps, signal);
    const value = await task.run({
      input: input.data,
      files: Object.fromEntries(record.files.map((file) => [file.field, files.of(file)])),
      ctx: {
        taskId: record.id,
        attempt: key.attempt,
        signal,
        progress: progress.report,
        settle: handlerCosts(deps, { record, key }, task),
        setting: (name) => deps.taskSettings.setting(named(name, task.settings)),
        secret: async (name) => deps.taskSettings.secret(named(name, task.secrets)),
        log: (message, fields) => deps.log.info(message, { ...fields, taskId: record.id, attempt: key.attempt }),
      },
    });
    if (files.problem !== undefined) throw files.problem;
    return { kind: 'succeeded', result: await storeResult(deps, key, value, signal) };
  } catch (error) {
    if (!isReadable(error))
      deps.log.error('handler failed', { taskId: record.id, api: record.api, reason: describe(error) });
    return failure(error);
  }
}

/** What a task type does not name does not reach its functions. */
function named(name: string, names: readonly string[]): string {
  if (names.includes(name)) return name;
  throw new TypeError(`expected one of the names that the task type gives (${names.join(', ')}), got ${name}`);
}

/** Anything can be thrown, also what has no text. */
function describe(error: unknown): string {
  try {
    return inspect(error).slice(0, 4_000);
  } catch {
    return 'something that cannot be shown';
  }
}
