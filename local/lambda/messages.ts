/** What a function's process is sent. Payloads are JSON text, as they are on the wire. */
export type ToRuntime = { kind: 'invoke'; requestId: string; payload: string; deadlineEpochMs: number; arn: string };

export type RuntimeError = { errorType: string; errorMessage: string; trace: string[] };

/**
 * What it sends back. `ready`: the handler is loaded. `began`: the invocation is in its hands, and is lost if the
 * process dies now. `fatal`: it is about to exit because something was thrown outside the handler.
 */
export type FromRuntime =
  | { kind: 'ready' }
  | { kind: 'not-loaded'; error: RuntimeError }
  | { kind: 'began'; requestId: string }
  | { kind: 'answer'; requestId: string; payload: string }
  | { kind: 'error'; requestId: string; error: RuntimeError }
  | { kind: 'fatal'; error: RuntimeError };
