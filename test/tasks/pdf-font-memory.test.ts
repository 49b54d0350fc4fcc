import type { Font } from 'fontkit';
import { expect, test } from 'vitest';
import { withMemory } from '../../tasks/pdf/font-memory.ts';

/** Lays out one glyph to the letter, 500 wide, and says how often it was asked. */
function counting() {
  const asked: string[] = [];
  const layout = (text: string) => {
    asked.push(text);
    const positions = Array.from(text, () => ({ xAdvance: 500, yAdvance: 0, xOffset: 0, yOffset: 0 }));
    return { glyphs: Array.from(text), positions, advanceWidth: 500 * text.length };
  };
  return { asked, ...withMemory({ layout } as unknown as Font) };
}

test('lays a word out once, and answers each time what may be changed', () => {
  const { asked, font, layout } = counting();
  expect(layout('word').advanceWidth).toBe(2_000);
  for (const { positions } of [font.layout('word'), font.layout('word')]) {
    expect(positions[0]?.xAdvance).toBe(500);
    for (const position of positions) position.xAdvance *= 2;
  }
  expect(layout('word').positions[0]?.xAdvance).toBe(500);
  expect(asked).toEqual(['word']);
});

test('measures what pdfkit has scaled', () => {
  const { font } = counting();
  const run = font.layout('ab');
  for (const position of run.positions) position.xAdvance /= 2;
  expect(run.advanceWidth).toBe(500);
});

test('forgets before it holds too much', () => {
  const { asked, layout } = counting();
  for (let word = 0; word <= 10_000; word++) layout(`${word}`);
  layout('0');
  expect(asked).toHaveLength(10_002);
});

test('knows a line of Chinese by its letters', () => {
  const { asked, font } = counting();
  expect(font.layout('简体中文简体').glyphs).toHaveLength(6);
  expect(asked).toEqual(['简', '体', '中', '文']);
});
