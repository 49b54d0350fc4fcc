import type { Font, GlyphRun } from 'fontkit';

/** Some 30 MB for each font. pdfkit's own memory has no end: a text of hashes fills a gigabyte. */
const maxRuns = 10_000;
/** Chinese, Japanese and Korean, where no letter changes for its neighbours: a line without spaces is not one word, but known letter by letter. */
const unjoined = /^[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]+$/;

/**
 * The font, and its layout, which remembers words: laying one out takes 20 to 80 µs, and each is laid out to be measured and again to be drawn. pdfkit scales
 * the positions of a layout in place, so what the font itself answers is a copy.
 */
export function withMemory(file: Font): { readonly font: Font; layout(text: string): GlyphRun } {
  const runs = new Map<string, GlyphRun>();
  const layout = (text: string) => {
    const known = runs.get(text);
    if (known !== undefined) return known;
    if (runs.size === maxRuns) runs.clear();
    const run = file.layout(text);
    runs.set(text, run);
    return run;
  };
  const font: Font = Object.create(file, {
    layout: {
      value: (text: string) => new Copy((unjoined.test(text) ? Array.from(text) : [text]).map(layout)),
    },
  });
  return { font, layout };
}

/** What pdfkit reads of a layout, its own to change. */
class Copy {
  readonly glyphs: GlyphRun['glyphs'];
  readonly positions: GlyphRun['positions'];

  constructor(parts: readonly GlyphRun[]) {
    this.glyphs = parts.flatMap(({ glyphs }) => glyphs);
    this.positions = parts
      .flatMap(({ positions }) => positions)
      .map(({ xAdvance, yAdvance, xOffset, yOffset }) => ({
        xAdvance,
        yAdvance,
        xOffset,
        yOffset,
      }));
  }

  get advanceWidth(): number {
    return this.positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0);
  }
}
