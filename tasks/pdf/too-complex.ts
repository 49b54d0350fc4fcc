import { TaskError } from '../../lib/task.ts';

export function tooComplex(why: string, cause?: unknown): TaskError {
  return new TaskError('too_complex', `the document is too complex: ${why}`, { cause });
}

/**
 * Throws `too_complex` for what V8 says when no array can be that long, no memory is left, or a structure is nested too deeply; libraries pass it on under
 * names of their own.
 */
export function refuseTooComplex(error: unknown): void {
  if (!(error instanceof Error)) return;
  if (/allocation failed|Invalid (array|typed array|string) length/.test(error.message))
    throw tooComplex('a part of it does not fit into memory', error);
  if (/Maximum call stack/.test(error.message)) throw tooComplex('its parts are nested too deeply', error);
}
