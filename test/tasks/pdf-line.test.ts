import { expect, test } from 'vitest';
import { lineText, type Piece } from '../../tasks/pdf/line.ts';

/** Letters 10 high; the width is given. */
const at = (
  left: number,
  str: string,
  width: number,
  dir = /[\u0590-\u06ff\ufe70-\ufefc]/.test(str) ? 'rtl' : 'ltr',
): Piece => ({
  str,
  dir,
  width,
  transform: [10, 0, 0, 10, left, 0],
});

const upright = (bottom: number, str: string): Piece => ({
  str,
  dir: 'rtl',
  width: 20,
  transform: [0, 10, -10, 0, 50, bottom],
});

test.each<[string, Piece[], string]>([
  ['nothing', [], ''],
  ['left to right as it comes', [at(50, 'one', 9), at(20, ' ', 3), at(0, 'two', 9)], 'one two'],
  ['Hebrew drawn word by word from the left', [at(0, 'עולם', 20), at(20, ' ', 4), at(24, 'שלום', 20)], 'שלום עולם'],
  ['Hebrew drawn word by word from the right', [at(24, 'שלום', 20), at(0, 'עולם', 20)], 'שלום עולם'],
  ['Hebrew drawn letter by letter', [at(30, 'ז', 5), at(21, 'ה', 9), at(8, 'מ', 9), at(0, 'ה', 8)], 'זה מה'],
  ['a number in Hebrew', [at(0, 'שנה', 20), at(24, '20', 10), at(34, '26', 10), at(48, 'עוד', 20)], 'עוד 2026 שנה'],
  [
    'Hebrew words in English',
    [at(0, 'The words', 40), at(44, 'עולם', 20), at(68, 'שלום', 20), at(92, 'mean hello', 40)],
    'The words שלום עולם mean hello',
  ],
  ['Arabic letter by letter, as drawn shapes', [at(0, 'ﻢ', 5), at(5, 'ﻗ', 5), at(10, 'ر', 5)], 'رقم'],
  ['Hebrew on a line that stands upright, as it comes', [upright(0, 'שלום'), upright(20, 'עולם')], 'שלוםעולם'],
  [
    'a bracket between Hebrew and a number',
    [at(0, '(', 4), at(4, 'שנה', 20), at(24, ')', 4), at(32, '2026', 20)],
    '2026 )שנה(',
  ],
  ['a space beside a gap, as one', [at(30, 'שנה ', 24), at(0, '2026', 20)], 'שנה 2026'],
  ['radicals in place of characters', [at(0, '⽇本', 20)], '日本'],
])('%s', (_, pieces, text) => {
  expect(lineText(pieces)).toBe(text);
});
