import * as z from 'zod';
import type { Task } from '../config.ts';
import { readCallbackUrl } from '../domain/callback-url.ts';
import { canonicalJson } from '../domain/fingerprint.ts';
import { type JsonValue, readStrictJson } from '../domain/strict-json.ts';
import { day } from '../domain/time.ts';
import type { Options, Submission, SubmittedFile } from '../operations/admission.ts';
import { maxInputBytes } from '../task.ts';
import { readReferences } from './file-references.ts';
import { readMultipart } from './multipart.ts';
import { type Fault, faultsOf, invalidInput, malformed, ProblemError } from './problem.ts';

/** An option that is not understood must not be silently ignored. */
const options = z.strictObject({ maxWaitMs: z.int().min(0).max(day).optional(), callbackUrl: z.string().optional() });

const jsonMembers = ['input', 'files', 'options'];

/** What a submission is read for: its task type, and the origins that a callback may always reach. */
export type Reading = { readonly task: Task; readonly trustedOrigins: readonly string[] };

export type BodyKind = { readonly kind: 'json' } | { readonly kind: 'multipart'; readonly contentType: string };

/** JSON in UTF-8 or multipart; anything else is 415. */
export function bodyKind(contentType: string | undefined): BodyKind {
  const [mediaType = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim());
  const charset = parameters
    .map((part) => /^charset="?([^"]*)"?$/i.exec(part)?.[1])
    .find((value) => value !== undefined);
  if (mediaType.toLowerCase() === 'multipart/form-data') return { kind: 'multipart', contentType: contentType ?? '' };
  if (mediaType.toLowerCase() === 'application/json' && /^utf-?8$/i.test(charset ?? 'utf-8')) return { kind: 'json' };
  throw new ProblemError({
    status: 415,
    code: 'unsupported_media_type',
    title: 'The body has a media type this api does not take',
    detail: `Expected application/json (UTF-8) or multipart/form-data, got ${JSON.stringify((contentType ?? '').slice(0, 100))}.`,
  });
}

/** Reads and checks a JSON body `{input, files?, options?}`; throws `ProblemError`. What it names as files is not looked up yet. */
export async function readJsonSubmission(bytes: Buffer, reading: Reading): Promise<Submission> {
  const body = parseJson(bytes, 'the body');
  if (!isObject(body)) throw malformed('malformed_json', 'Expected a JSON object with the member input.');
  const unknown = Object.keys(body).filter((key) => !jsonMembers.includes(key));
  const { references, faults } = readReferences(body.files, reading.task.files ?? {});
  const submission = await checked(
    reading,
    body,
    [],
    [
      ...unknown.map((key) => ({ path: key, message: `unknown member, expected ${jsonMembers.join(' or ')}` })),
      ...faults,
    ],
  );
  return references.length === 0 ? submission : { ...submission, uploads: references };
}

/** Checks an input that came in no body of a post; throws `ProblemError`. */
export async function readInput(input: JsonValue, reading: Reading): Promise<Submission> {
  return checked(reading, { input }, [], []);
}

/** Reads and checks a multipart body; throws `ProblemError`. */
export async function readMultipartSubmission(
  bytes: Buffer,
  contentType: string,
  reading: Reading,
): Promise<Submission> {
  const { task } = reading;
  const parts = await readMultipart(bytes, contentType, task.files ?? {});
  const jsonOf = (name: string) => {
    const part = parts.get(name);
    return part && parseJson(part.bytes, `part ${name}`);
  };
  const files = Object.keys(task.files ?? {}).flatMap((field): SubmittedFile[] => {
    const part = parts.get(field);
    return part === undefined ? [] : [{ field, ...part, size: part.bytes.length }];
  });
  const faults = requiredFiles(task)
    .filter((field) => !parts.has(field))
    .map((field) => ({ path: `files.${field}`, message: 'expected a file part of this name' }));
  return checked(reading, { input: jsonOf('input'), options: jsonOf('options') }, files, faults);
}

async function checked(
  { task, trustedOrigins }: Reading,
  { input, options: given }: { readonly input?: JsonValue | undefined; readonly options?: JsonValue | undefined },
  files: readonly SubmittedFile[],
  faults: readonly Fault[],
): Promise<Submission> {
  const all = [...faults];
  const asked = readOptions(given, trustedOrigins);
  if (asked.kind === 'faults') all.push(...asked.faults);
  if (input === undefined)
    throw invalidInput([{ path: 'input', message: 'expected a JSON value, {} where there is nothing to say' }, ...all]);
  const parsed = await task.input.safeParseAsync(input);
  if (!parsed.success) all.push(...faultsOf(parsed.error, 'input'));
  if (all.length > 0 || asked.kind === 'faults') throw invalidInput(all);
  const size = Buffer.byteLength(canonicalJson(input));
  if (size > maxInputBytes) {
    throw new ProblemError({
      status: 413,
      code: 'too_large',
      title: 'The input is too large',
      detail: `Expected at most ${maxInputBytes} bytes of input as JSON, got ${size}; send larger content as a file.`,
      members: { part: 'input', maxBytes: maxInputBytes },
    });
  }
  return { input, files, options: asked.options };
}

function readOptions(
  given: JsonValue | undefined,
  trustedOrigins: readonly string[],
): { readonly kind: 'options'; readonly options: Options } | { readonly kind: 'faults'; readonly faults: Fault[] } {
  const read = options.safeParse(given ?? {});
  if (!read.success) return { kind: 'faults', faults: faultsOf(read.error, 'options') };
  const { callbackUrl } = read.data;
  if (callbackUrl === undefined) return { kind: 'options', options: read.data };
  const callback = readCallbackUrl(callbackUrl, trustedOrigins);
  return callback.kind === 'refused'
    ? { kind: 'faults', faults: [{ path: 'options.callbackUrl', message: callback.problem }] }
    : { kind: 'options', options: { ...read.data, callbackUrl: callback.url.href } };
}

/** Strict JSON in UTF-8; throws a 400 `ProblemError` that names `what`. */
export function parseJson(bytes: Buffer, what: string): JsonValue {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('malformed_json', `Expected ${what} in UTF-8.`);
  }
  const parsed = readStrictJson(text);
  if (parsed.kind === 'malformed') throw malformed('malformed_json', `Expected ${what} as JSON: ${parsed.reason}.`);
  return parsed.value;
}

function requiredFiles(task: Task): string[] {
  return Object.entries(task.files ?? {}).flatMap(([field, rule]) => (rule.required === false ? [] : [field]));
}

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
