/** A failure that the person at the keyboard can mend. Its message is one clear line and is all they see. */
export class StackError extends Error {
  override readonly name = 'StackError';
}

/** The template asks for something that cannot be honoured on one machine. */
export function unsupported(logicalId: string, what: string): StackError {
  return new StackError(`${logicalId}: ${what}`);
}

/** The one line worth showing of whatever was thrown. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return error instanceof StackError ? text : (text.split('\n')[0] ?? text);
}
