import { type Log, Unavailable } from '../ports.ts';

/** Logs what goes on without its cause being mended: a service that is away is a warning, anything else an error that somebody must look at. */
export function logFailure(
  log: Log,
  message: string,
  error: unknown,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  const write = error instanceof Unavailable ? log.warn : log.error;
  write(message, { ...fields, reason: String(error) });
}
