import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type JsonValue, readStrictJson } from '../domain/strict-json.ts';
import type { Hook } from '../hook-schema.ts';
import type { Log } from '../ports.ts';
import { faultsOf, invalidInput, ProblemError } from './problem.ts';
import { bodyBytes } from './request.ts';
import { requireJson } from './request-body.ts';
import { parseJson } from './submission.ts';

/** An event tells what happened; it carries no file. */
const maxEventBytes = 1_000_000;
const maxKeyLength = 10_000;

/** `asks` for a task with `input`, under the name `key`. `ignored`: the mapping makes no task of it. */
export type ReadEvent =
  | { readonly kind: 'asks'; readonly key: string; readonly input: JsonValue }
  | { readonly kind: 'ignored' };

/** The bytes of an event as they came; throws 413, or 415 for what is not said to be JSON. */
export function hookBody(event: APIGatewayProxyEvent): Buffer {
  requireJson(event);
  const bytes = bodyBytes(event);
  if (bytes.length <= maxEventBytes) return bytes;
  throw new ProblemError({
    status: 413,
    code: 'too_large',
    title: 'The event is too large',
    detail: `Expected at most ${maxEventBytes} bytes, got ${bytes.length}.`,
    members: { maxBytes: maxEventBytes },
  });
}

/** What an event asks for; throws 400 for what is no JSON, 422 for what is no event of this kind or what its mapping stumbles over. */
export function readEvent({ log }: { readonly log: Log }, hook: Hook, bytes: Buffer): ReadEvent {
  const parsed = hook.event.safeParse(parseJson(bytes, 'the body'));
  if (!parsed.success) throw invalidInput(faultsOf(parsed.error));
  const event = parsed.data as never;
  const mapped = tell(log, hook, 'input', () => {
    const input = hook.input(event);
    return input === undefined ? undefined : jsonOf(input);
  });
  if (mapped === undefined) return { kind: 'ignored' };
  const key = tell(log, hook, 'key', () => keyOf(hook.key(event)));
  return { kind: 'asks', key, input: mapped };
}

/** A mapping is the configuration's own code, and its event may hold what its author did not think of: the sender hears that, the log says where. */
function tell<Value>(log: Log, { source }: Hook, member: 'input' | 'key', map: () => Value): Value {
  try {
    return map();
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('the mapping of a hook threw', { source, member, reason });
    throw new ProblemError({
      status: 422,
      code: 'unmapped_event',
      title: 'The event cannot be made a task',
      detail: `hooks.${source}.${member} of the configuration makes nothing of this event; the log says why.`,
    });
  }
}

/** As JSON would carry it: without members that are undefined, moments as text. */
function jsonOf(input: unknown): JsonValue {
  const read = readStrictJson(JSON.stringify(input) ?? '');
  if (read.kind === 'malformed') throw new TypeError(`expected input as JSON: ${read.reason}`);
  return read.value;
}

function keyOf(key: unknown): string {
  if (typeof key === 'string' && key.length >= 1 && key.length <= maxKeyLength && key.isWellFormed()) return key;
  throw new TypeError(`expected key as a text of 1 to ${maxKeyLength} characters`);
}
