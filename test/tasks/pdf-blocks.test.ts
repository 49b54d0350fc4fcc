import { expect, test } from 'vitest';
import { untabbed } from '../../tasks/pdf/blocks.ts';

test.each([
  ['', ''],
  ['none', 'none'],
  ['\tone', '        one'],
  ['a\tb\tc', 'a       b       c'],
  ['12345678\t9', '12345678        9'],
])('sets tab stops of 8 in %j', (line, text) => {
  expect(untabbed(line)).toBe(text);
});
