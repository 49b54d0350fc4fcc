import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * A place in a list as a client carries it: opaque, and good only for the list it was made for. `scope` says which (whose, of what, filtered how).
 * The text is `<base64url of JSON>.<base64url of HMAC-SHA256>`.
 */
export function writeCursor(key: Uint8Array, scope: readonly unknown[], place: unknown): string {
  const text = Buffer.from(JSON.stringify(place)).toString('base64url');
  return `${text}.${macOf(key, scope, text).toString('base64url')}`;
}

/** Undefined for what this key did not write for this scope. */
export function readCursor(key: Uint8Array, scope: readonly unknown[], cursor: string): unknown {
  const [text = '', mac = '', ...rest] = cursor.split('.');
  const given = Buffer.from(mac, 'base64url');
  const right = macOf(key, scope, text);
  if (rest.length > 0 || given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString());
}

function macOf(key: Uint8Array, scope: readonly unknown[], text: string): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([scope, text]))
    .digest();
}
