import type { $ZodError } from 'zod/v4/core';

/** Problem types of the rate limit draft (draft-ietf-httpapi-ratelimit-headers, "Problem Types"). */
const registry = 'https://iana.org/assignments/http-problem-types#';
export const quotaExceeded = `${registry}quota-exceeded`;
export const reducedCapacity = `${registry}temporary-reduced-capacity`;

/** RFC 9457 problem details; `code` is the stable name a client switches on, members beyond the standard ones stand beside it. */
export type Problem = {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly type?: string;
  readonly retryAfterMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly members?: Readonly<Record<string, unknown>>;
};

/** Thrown where a request cannot be read; the handler's middleware answers it. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.problem = problem;
  }
}

export function malformed(code: string, detail: string): ProblemError {
  return new ProblemError({ status: 400, code, title: 'The request cannot be read', detail });
}

export type Fault = { readonly path: string; readonly message: string };

/** What zod found, each by its path below `root`; without one, a fault of the whole is of the body. */
export function faultsOf(error: $ZodError, root?: string): Fault[] {
  return error.issues.map(({ path, message }) => {
    const names = [...(root === undefined ? [] : [root]), ...path].map(String);
    return { path: names.join('.') || 'the body', message };
  });
}

const mostFaults = 20;
const mostText = 200;

/** A fault may repeat what the client sent, of any length. */
function cut(text: string): string {
  return text.length <= mostText ? text : `${text.slice(0, mostText).toWellFormed()}…`;
}

export function invalidInput(faults: readonly Fault[]): ProblemError {
  const shown = faults.slice(0, mostFaults).map(({ path, message }) => ({ path: cut(path), message: cut(message) }));
  return new ProblemError({
    status: 422,
    code: 'invalid_input',
    title: 'The input is not valid',
    detail: shown.map(({ path, message }) => `${path}: ${message}`).join('; '),
    members: { errors: shown },
  });
}
