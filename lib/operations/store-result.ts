import { resultsPrefix } from '../domain/file-places.ts';
import type { StoredResult } from '../domain/task-record.ts';
import { type AttemptKey, Unavailable } from '../ports.ts';
import { maxResultBytes, maxResultFileBytes, ResultFile, type ResultFileSource, TaskError } from '../task.ts';
import type { Deps } from './deps.ts';

/** JSON text up to this size is kept in the task's record, whose ceiling in DynamoDB is 400 KB. */
export const maxInlineBytes = 100_000;

/**
 * What a handler returned, as the record keeps it: JSON text, or where it is stored. Each attempt has a place of its own, so that what one that was given
 * up stores late never comes in place of the accepted one's. Throws `TaskError`.
 */
export async function storeResult(
  deps: Pick<Deps, 'files'>,
  key: AttemptKey,
  value: unknown,
  signal: AbortSignal,
): Promise<string | StoredResult> {
  if (value instanceof ResultFile) return storeFile(deps, key, value.source, signal);
  const text = jsonText(value);
  const bytes = Buffer.from(text);
  if (bytes.length > maxResultBytes) throw tooLarge(bytes.length, maxResultBytes);
  if (bytes.length <= maxInlineBytes) return text;
  return store(deps, key, { mediaType: 'application/json', bytes }, signal);
}

async function storeFile(
  deps: Pick<Deps, 'files'>,
  key: AttemptKey,
  source: ResultFileSource,
  signal: AbortSignal,
): Promise<StoredResult> {
  try {
    return await store(deps, key, source, signal);
  } finally {
    if (source.path !== undefined) await source.cleanUp?.();
  }
}

async function store(
  { files }: Pick<Deps, 'files'>,
  { id, attempt }: AttemptKey,
  source: ResultFileSource,
  signal: AbortSignal,
): Promise<StoredResult> {
  const key = `${resultsPrefix}${id}/${attempt}`;
  const { mediaType, name } = source;
  try {
    const stored = await files.store(key, source, { mediaType, maxBytes: maxResultFileBytes }, signal);
    if (stored.kind === 'too_large') throw tooLarge(stored.size, maxResultFileBytes);
    const { size, sha256 } = stored;
    return { key, size, sha256, mediaType, ...(name === undefined ? {} : { name: String(name).slice(0, 1_000) }) };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    throw new TaskError('result_not_stored', 'the result could not be stored', { retryable: true, cause: error });
  }
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw new TaskError('invalid_result', 'the handler returned what JSON cannot hold', { cause: error });
  }
}

function tooLarge(size: number, most: number): TaskError {
  return new TaskError('result_too_large', `the result has ${size} bytes, at most ${most} fit`);
}
