import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readStrictJson } from '../../lib/domain/strict-json.ts';

test('reads whatever JSON.stringify writes, as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 10, stringUnit: 'grapheme' }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!/\d{16}|e\+/.test(text));
      expect(readStrictJson(text)).toEqual({ kind: 'value', value: JSON.parse(text) });
    }),
    { numRuns: 500 },
  );
});

test('refuses whatever JSON.parse refuses', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\0-.eE+truefalsn \n'), maxLength: 20 }), (text) => {
      const parses = (() => {
        try {
          JSON.parse(text);
          return true;
        } catch {
          return false;
        }
      })();
      const read = readStrictJson(text).kind === 'value';
      // Stricter than JSON.parse is right; laxer never is.
      expect(parses || !read).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  ['duplicate keys', '{"a":1,"a":1}', 'the key "a" comes twice'],
  ['duplicate keys by an escape', '{"a":1,"\\u0061":2}', 'the key "a" comes twice'],
  ['a doubled __proto__', '{"__proto__":1,"__proto__":2}', 'comes twice'],
  ['integers two texts of which are one double', '9007199254740993', 'beyond'],
  ['large numbers in exponent form', '1e300', 'beyond'],
  ['numbers without end', '1e999', 'beyond'],
  ['half a surrogate pair', '"\\ud800"', 'surrogate'],
  ['half a surrogate pair as a key', '{"\\udc00":1}', 'surrogate'],
  ['a value below 32 levels', '['.repeat(34) + ']'.repeat(34), 'at most 32 levels'],
  ['raw control characters', '"\u0001"', 'control'],
  ['a bare word', 'nul', 'expected a value'],
  ['a leading zero', '01', 'expected the end'],
  ['a comma too many', '[1,]', 'expected a value'],
  ['an end too early', '{"a"', 'expected :'],
  ['nothing', '', 'expected a value'],
  ['two values', '1 2', 'expected the end'],
])('refuses %s', (_name, text, reason) => {
  const result = readStrictJson(text);
  expect(result.kind).toBe('malformed');
  if (result.kind === 'malformed') expect(result.reason).toContain(reason);
});

test('a body of a hundred thousand brackets is refused without deep recursion', () => {
  expect(readStrictJson('['.repeat(100_000)).kind).toBe('malformed');
});

test('32 levels are allowed, and the largest safe integer', () => {
  expect(readStrictJson('['.repeat(32) + ']'.repeat(32)).kind).toBe('value');
  expect(readStrictJson('-9007199254740991')).toEqual({ kind: 'value', value: -9007199254740991 });
});

test('__proto__ is a key like any other', () => {
  const read = readStrictJson('{"__proto__":{"a":1}}');
  const value = read.kind === 'value' ? read.value : null;
  expect(Object.keys(value as object)).toEqual(['__proto__']);
  expect((value as { a?: number }).a).toBeUndefined();
});

test('a string of megabytes is read', () => {
  expect(readStrictJson(JSON.stringify('x'.repeat(4_000_000))).kind).toBe('value');
});
