import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Asked, dedupKey, eventKey, fingerprint } from '../../lib/domain/fingerprint.ts';
import { type JsonValue, readStrictJson } from '../../lib/domain/strict-json.ts';

const file = { field: 'document', mediaType: 'application/pdf', size: 3, sha256: 'a'.repeat(64) };
const asked: Asked = { tenant: 't', method: 'POST', api: 'g/a', input: { a: 1 }, files: [file] };

function read(text: string): JsonValue {
  const result = readStrictJson(text);
  if (result.kind === 'malformed') throw new Error(result.reason);
  return result.value;
}

test.each([
  ['key order and white space', '{"a":1,"b":[true,null]}', '{ "b" : [ true , null ] , "a" : 1 }'],
  ['a number written otherwise', '{"a":1.0,"b":100}', '{"a":1,"b":1e2}'],
  ['an escape', '{"a":"é/"}', '{"a":"\\u00e9\\/"}'],
  ['minus zero', '[-0]', '[0]'],
])('means the same: %s', (_what, one, other) => {
  expect(fingerprint({ ...asked, input: read(one) })).toBe(fingerprint({ ...asked, input: read(other) }));
});

test.each<[string, Partial<Asked>]>([
  ['another tenant', { tenant: 'u' }],
  ['another api', { api: 'g/b' }],
  ['another value', { input: { a: 2 } }],
  ['a string for a number', { input: { a: '1' } }],
  ['null for absent', { input: { a: 1, b: null } }],
  ['__proto__ added', { input: read('{"a":1,"__proto__":1}') }],
  ['no file', { files: [] }],
  ['a changed byte', { files: [{ ...file, sha256: 'b'.repeat(64) }] }],
  ['another field', { files: [{ ...file, field: 'cover' }] }],
  ['another media type', { files: [{ ...file, mediaType: 'image/png' }] }],
])('means something else: %s', (_what, over) => {
  expect(fingerprint({ ...asked, ...over })).not.toBe(fingerprint(asked));
});

test('composed and decomposed letters differ, because they are other bytes', () => {
  expect(fingerprint({ ...asked, input: 'é' })).not.toBe(fingerprint({ ...asked, input: 'e\u0301' }));
});

test('file order does not matter', () => {
  const cover = { ...file, field: 'cover' };
  expect(fingerprint({ ...asked, files: [cover, file] })).toBe(fingerprint({ ...asked, files: [file, cover] }));
});

test('no two lists of parts run together', () => {
  const part = fc.string({ unit: fc.constantFrom('1', ':', 'a', '#'), maxLength: 4 });
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      fc.pre(a !== c || b !== d);
      expect(fingerprint({ ...asked, tenant: a, api: b })).not.toBe(fingerprint({ ...asked, tenant: c, api: d }));
    }),
  );
});

test('is stable: records written by an earlier version must still be found', () => {
  expect(fingerprint(asked)).toMatchInlineSnapshot(
    `"sha256:d90b45a05a80e546a2ef22ce9660b6ca391e37c0331cc9c028bef3f316a89dfc"`,
  );
});

test('an Idempotency-Key names the request instead of its content', () => {
  expect(dedupKey(asked, 'sha256:x', undefined)).toBe('D#t#f#sha256:x');
  expect(dedupKey(asked, 'sha256:x', 'k')).toBe(dedupKey(asked, 'sha256:y', 'k'));
  expect(dedupKey(asked, 'sha256:x', 'k')).not.toBe(dedupKey({ ...asked, tenant: 'u' }, 'sha256:x', 'k'));
  expect(dedupKey(asked, 'sha256:x', 'k')).not.toContain('#k#POST#g/a#k');
});

test('the events of one source with one key are the same, in one tenant and api', () => {
  const event = { source: 'alerts', key: '{}:{alertname="A"}' };
  const key = eventKey(asked, event);
  expect(key).toBe(eventKey({ ...asked }, { ...event }));
  const others = [
    eventKey({ ...asked, tenant: 'u' }, event),
    eventKey({ ...asked, api: 'g/b' }, event),
    eventKey(asked, { ...event, source: 'others' }),
    eventKey(asked, { ...event, key: 'B' }),
    dedupKey(asked, 'sha256:x', event.key),
  ];
  expect(new Set([key, ...others]).size).toBe(6);
});
