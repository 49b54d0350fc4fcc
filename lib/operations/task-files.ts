import { createHash } from 'node:crypto';
import type { StoredFile } from '../domain/task-record.ts';
import { TaskError, type TaskFile } from '../task.ts';
import type { Deps } from './deps.ts';

/**
 * The files of one attempt. Whatever is read is held against the SHA-256 that the task was admitted with: before the first byte by what S3 computed when it
 * took the object, and again over the bytes themselves. `problem` keeps the first file that was not the right one, also where the handler passed over it.
 */
export class TaskFiles {
  problem: TaskError | undefined;
  readonly #deps: Pick<Deps, 'files'>;
  readonly #signal: AbortSignal;

  constructor(deps: Pick<Deps, 'files'>, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  of(file: StoredFile): TaskFile {
    const { name, mediaType, size, sha256 } = file;
    const stream = () => this.#read(file);
    return { name, mediaType, size, sha256, stream, bytes: () => collect(stream(), size) };
  }

  async *#read({ key, sha256, size }: StoredFile): AsyncGenerator<Uint8Array, void, undefined> {
    const opened = await this.#deps.files.open(key, this.#signal);
    if (opened.kind === 'absent') throw this.#wrong('file_gone', 'the stored file is not there any more');
    if (opened.sha256 !== sha256 || opened.size !== size) throw this.#changed();
    const hash = createHash('sha256');
    for await (const bytes of opened.bytes) {
      hash.update(bytes);
      yield bytes;
    }
    if (hash.digest('hex') !== sha256) throw this.#changed();
  }

  #changed(): TaskError {
    return this.#wrong('file_changed', 'the stored file is not the one that was sent');
  }

  #wrong(code: string, message: string): TaskError {
    this.problem ??= new TaskError(code, message);
    return this.problem;
  }
}

async function collect(stream: AsyncIterable<Uint8Array>, size: number): Promise<Uint8Array> {
  const whole = new Uint8Array(size);
  let at = 0;
  for await (const bytes of stream) {
    // What is longer than it should be is found out at its end.
    if (at + bytes.length <= size) whole.set(bytes, at);
    at += bytes.length;
  }
  return whole;
}
