import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonValue } from './strict-json.ts';

export type FileDigest = {
  readonly field: string;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
};

export type Asked = {
  readonly tenant: string;
  readonly method: string;
  readonly api: string;
  readonly input: JsonValue;
  readonly files: readonly FileDigest[];
};

const version = 'weir-1';

/**
 * `sha256:<64 hex>` of what is asked: two requests that mean the same have one, whatever their key order, white space or file names. Input is in
 * RFC 8785 form; every part is preceded by its length in bytes, so that no two lists of parts run together to the same bytes.
 */
export function fingerprint({ tenant, method, api, input, files }: Asked): string {
  const hash = createHash('sha256');
  const part = (text: string) => hash.update(`${Buffer.byteLength(text)}:`).update(text);
  [version, tenant, method, api, canonicalJson(input)].forEach(part);
  for (const file of [...files].sort((a, b) => (a.field < b.field ? -1 : 1))) {
    [file.field, file.mediaType, String(file.size), file.sha256].forEach(part);
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Of an input the members its api names as the ones that make requests identical; all of it where none are named or it is no object. */
export function whatMatters(input: JsonValue, fields: readonly string[] | undefined): JsonValue {
  if (fields === undefined || typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const named = fields.filter((field) => Object.hasOwn(input, field));
  return Object.fromEntries(named.map((field) => [field, input[field] ?? null]));
}

/** RFC 8785: one text for one value. */
export function canonicalJson(value: JsonValue): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('expected a JSON value');
  return text;
}

/** The primary key of the dedup item: by what is asked or, with an `Idempotency-Key`, by that key. Scoped to the tenant. */
export function dedupKey(
  asked: Pick<Asked, 'tenant' | 'method' | 'api'>,
  print: string,
  idempotencyKey: string | undefined,
): string {
  if (idempotencyKey === undefined) return `D#${asked.tenant}#f#${print}`;
  return `D#${asked.tenant}#k#${asked.method}#${asked.api}#${createHash('sha256').update(idempotencyKey).digest('hex')}`;
}

/** An event of a hook, whatever its content is by now: events of one source with one key are the same. */
export type HookEvent = { readonly source: string; readonly key: string };

/** The dedup key of what a hook's event asks for. */
export function eventKey({ tenant, api }: Pick<Asked, 'tenant' | 'api'>, { source, key }: HookEvent): string {
  return `D#${tenant}#e#${api}#${source}#${createHash('sha256').update(key).digest('hex')}`;
}
