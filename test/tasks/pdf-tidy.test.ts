import { expect, test } from 'vitest';
import { tidy } from '../../tasks/pdf/tidy.ts';

test.each([
  [
    "the ligatures of TeX's fonts without names, as letters",
    'e\x1ecient \x1cne \x1dow o\x1b \x1ft',
    'efficient fine flow off fflt',
  ],
  ['no control characters', 'a\x00b\x7f\x85c', 'abc'],
  ['no halves of surrogate pairs', 'a\ud800b', 'a\ufffdb'],
  ['lines, without the space at their ends', '  a \t\n\n b  ', 'a\n\n b'],
])('keeps %s', (_, text, tidied) => {
  expect(tidy(text)).toBe(tidied);
});
