import type * as z from 'zod';

/**
 * A task's input and its result, as JSON, are at most this large: both live in its record beside each other, whose ceiling in DynamoDB is 400 KB.
 */
export const maxInputBytes = 64_000;
export const maxResultBytes = 300_000;

/** What one file part of a task may be. `maxBytes` is checked while the part is read, never by what the client says. */
export type FileRule = {
  readonly mediaTypes: readonly string[];
  readonly maxBytes: number;
  /** Absent means required. */
  readonly required?: boolean | undefined;
};

/** A file a client sent with its task. `bytes` reads it from the bucket and checks its SHA-256 on the way. */
export type TaskFile = {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  bytes(): Promise<Uint8Array>;
};

type TaskFiles<Rules extends Record<string, FileRule>> = {
  readonly [Field in keyof Rules]: Rules[Field] extends { readonly required: false } ? TaskFile | undefined : TaskFile;
};

/** What a handler may use besides its input and files. */
export type TaskContext = {
  readonly taskId: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** Aborts when the attempt must stop: its time is over or its lease is lost. A handler passes it on or checks it. */
  readonly signal: AbortSignal;
  /** Shown to whoever reads the task; kept to one write a second, the last one wins. `percent` is 0 to 100. */
  progress(percent: number, message?: string): void;
  /** One line in the function's log, with the task's id. */
  log(message: string, fields?: Record<string, string | number | boolean>): void;
};

type RunArguments<Input, Files extends Record<string, FileRule>> = {
  readonly input: Input;
  readonly files: TaskFiles<Files>;
  readonly ctx: TaskContext;
};

/** A task type as its author writes it; see `defineTask`. */
export type TaskSource<
  Pool extends string,
  Input extends z.ZodType,
  Files extends Record<string, FileRule> = Record<never, FileRule>,
> = {
  /** `<group>/<name>`, each 1 to 32 of a-z, 0-9 and `-`. */
  readonly api: string;
  readonly pool: Pool;
  readonly input: Input;
  readonly files?: Files;
  /** Slots one run takes in every tier. Default 1. */
  readonly permits?: number;
  /** An attempt longer than this is aborted and counts as failed. At most 855,000. */
  readonly timeoutMs: number;
  /**
   * `attempts`: how many may fail before the task does, default 3. Between two of them lies a random time of at most `firstMs` (default 2,000), twice
   * that, four times that …, and never more than `longestMs` (default 300,000).
   */
  readonly retry?: { readonly attempts?: number; readonly firstMs?: number; readonly longestMs?: number };
  /**
   * `windowMs`: how long a result answers an identical request, default 300,000; 0 never reuses one. `fields`: the input's members that make requests
   * identical; by default all of it. Files always count.
   */
  readonly dedup?: { readonly windowMs?: number; readonly fields?: readonly (keyof z.input<Input> & string)[] };
  /** Returns the result, any JSON value. Throws `TaskError` for what a client should read; anything else is retried. */
  run(args: RunArguments<z.output<Input>, Files>): Promise<unknown>;
};

/** A task type with its handler's argument types forgotten, as Weir itself sees it. */
export type TaskDefinition<Pool extends string = string> = {
  readonly api: string;
  readonly pool: Pool;
  readonly input: z.ZodType;
  readonly files?: Record<string, FileRule>;
  readonly permits?: number;
  readonly timeoutMs: number;
  readonly retry?: { readonly attempts?: number; readonly firstMs?: number; readonly longestMs?: number };
  readonly dedup?: { readonly windowMs?: number; readonly fields?: readonly string[] };
  run(args: {
    readonly input: unknown;
    readonly files: Readonly<Record<string, TaskFile | undefined>>;
    readonly ctx: TaskContext;
  }): Promise<unknown>;
};

/**
 * Declares a task type: one file in `tasks/`, one line in `weir.config.ts`. The types of `input` and `files` inside `run` follow from the schema and
 * the file rules. Import heavy libraries inside `run`: the API's functions are bundled without what only a dynamic import reaches.
 */
export function defineTask<
  const Pool extends string,
  Input extends z.ZodType,
  const Files extends Record<string, FileRule> = Record<never, FileRule>,
>(source: TaskSource<Pool, Input, Files>): TaskDefinition<Pool> {
  return source as unknown as TaskDefinition<Pool>;
}

/**
 * An error with a code a client can act on. Fatal unless `retryable`: the task fails at once, because trying a damaged file again cannot help.
 * `retryAfterMs`: a retry before that cannot help either, at most a day.
 * `code` is 1 to 64 of a-z, 0-9 and `_`.
 */
export class TaskError extends Error {
  override readonly name = 'TaskError';
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: string,
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}
