import type * as z from 'zod';

/** A task's input, as JSON, is at most this large: it lives in its record, whose ceiling in DynamoDB is 400 KB. */
export const maxInputBytes = 64_000;
/** A result that is JSON is at most this large; what is larger is a `resultFile`. */
export const maxResultBytes = 10_485_760;
/** A result that is a file is at most this large: what S3 takes in one request. */
export const maxResultFileBytes = 5_000_000_000;

/** What one file part of a task may be. `maxBytes` is checked while the part is read, never by what the client says. */
export type FileRule = {
  readonly mediaTypes: readonly string[];
  readonly maxBytes: number;
  /** Absent means required. */
  readonly required?: boolean | undefined;
};

/**
 * A file a client sent with its task. Reading it checks its SHA-256 on the way; one that is not the file that was sent fails the task, whatever the handler
 * makes of it.
 */
export type TaskFile = {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  /** All of it, in memory. */
  bytes(): Promise<Uint8Array>;
  /** Piece by piece, in little memory whatever its size; each call begins anew. `pipeline(file.stream(), createWriteStream(path))` makes it a local file. */
  stream(): AsyncIterable<Uint8Array>;
};

/**
 * A result that is a file: `return resultFile({ bytes, mediaType: 'application/pdf', name: 'minutes.pdf' })`. Weir stores it, and whoever may read the
 * task downloads it from its `resultUrl`. `name` is what the download is called, any text; what no file system takes is replaced. Instead of `bytes` a
 * `path` names a file on this machine, which is read as a stream: make it in a folder of `os.tmpdir()` and remove the folder by `cleanUp`, which is called once
 * the file is stored or could not be.
 */
export type ResultFileSource = {
  /** Such as `application/pdf`. */
  readonly mediaType: string;
  readonly name?: string;
} & (
  | { readonly bytes: Uint8Array; readonly path?: undefined }
  | { readonly path: string; readonly bytes?: undefined; cleanUp?(): Promise<void> }
);

/** Made by `resultFile` alone, so that no JSON result is ever taken for one. */
export class ResultFile {
  readonly source: ResultFileSource;

  constructor(source: ResultFileSource) {
    this.source = source;
  }
}

const mediaTypeShape = /^[a-z]+\/[a-z0-9.+-]+(?:; ?charset=[a-z0-9-]+)?$/;

/** What a handler returns for a result that is a file; throws a `TypeError` for a media type that is none. */
export function resultFile(source: ResultFileSource): ResultFile {
  if (!mediaTypeShape.test(source.mediaType)) {
    throw new TypeError(`expected a media type such as application/pdf, got ${JSON.stringify(source.mediaType)}`);
  }
  return new ResultFile(source);
}

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
  /**
   * Says what the task truly cost, by the names of its `costs`: what was charged too much is given back, what is missing is owed. Absolute, for the
   * whole task: said twice it counts once, and the last word stands. It never fails the task when Redis is away.
   */
  settle(amounts: Readonly<Record<string, number>>): Promise<void>;
  /** An environment variable that the task type names under `settings`; undefined where it is not set. */
  setting(name: string): string | undefined;
  /** A secret that the task type names under `secrets`; undefined where there is none. Throws while the store of secrets does not answer. */
  secret(name: string): Promise<string | undefined>;
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
  /** `keepMs`: how long after the end a result can be read; by default as long as its task. */
  readonly result?: { readonly keepMs?: number };
  /**
   * Amounts of a task beside 1 for each request, by name, for rate rules that count by them: `costs: { tokens: (input) => input.text.length / 4 }`.
   * An estimate, rounded up to a whole number; `ctx.settle` says the true one.
   */
  readonly costs?: Readonly<Record<string, (input: z.output<Input>) => number>>;
  /** Environment variables its handler reads, each `WEIR_…`; set when the stack is synthesized, they reach the functions of its pool. */
  readonly settings?: readonly string[];
  /**
   * Secrets its handler reads, each `WEIR_…`: `<name>_SECRET_ARN` names one in Secrets Manager, whose text it is; or `<name>` itself is set, as on one
   * machine, and then stands in the configuration of the function for whoever may read that.
   */
  readonly secrets?: readonly string[];
  /** Returns the result, any JSON value or a `resultFile`. Throws `TaskError` for what a client should read; anything else is retried. */
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
  readonly result?: { readonly keepMs?: number };
  readonly costs?: Readonly<Record<string, (input: never) => number>>;
  readonly settings?: readonly string[];
  readonly secrets?: readonly string[];
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
