import bidiFactory from 'bidi-js';
import LineBreaker from 'linebreak';
import type { Face, Fonts, OpenFont } from './fonts.ts';

/** Text that looks alike. */
export type Span = { readonly text: string; readonly face: Face; readonly link?: string | undefined };

/** Letters that stay together: one font, one direction, all blank or none. */
export type Atom = {
  /** As it is drawn from left to right, but for letters that the font's own layout turns round. */
  readonly text: string;
  readonly font: OpenFont;
  readonly link: string | undefined;
  /** Of Unicode's bidirectional algorithm: odd is right to left. */
  readonly level: number;
  readonly blank: boolean;
  readonly width: number;
  /** A line may end after it. */
  readonly mayBreak: boolean;
};

export type Measure = (text: string, font: OpenFont) => number;

// Its types speak of a default export, which it has in a bundle and not in Node.
const bidi = (bidiFactory as unknown as typeof bidiFactory.default)();
const rightToLeft = /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc]|\ud802|\ud83a|\ud83b/;
const rightToLeftLetter = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** One paragraph, without line breaks of its own, in the order in which it is read. `level` is the paragraph's. */
export function atomsOf(spans: readonly Span[], fonts: Fonts, measure: Measure): { atoms: Atom[]; level: number } {
  const text = spans.map((span) => span.text).join('');
  const { levels, paragraphs } = rightToLeft.test(text)
    ? bidi.getEmbeddingLevels(text)
    : { levels: undefined, paragraphs: [] };
  const breaks = breaksIn(text);
  const atoms: Atom[] = [];
  let start = 0;
  for (const span of spans) {
    const spanEnd = start + span.text.length;
    while (start < spanEnd) {
      const level = levels?.[start] ?? 0;
      const blank = isBlank(text[start]);
      let end = start + 1;
      while (end < spanEnd && !breaks.has(end) && (levels?.[end] ?? 0) === level && isBlank(text[end]) === blank) end++;
      const mayBreak = breaks.has(end);
      const runs = fonts.runsOf(text.slice(start, end), span.face);
      runs.forEach(({ font, text: letters }, index) => {
        const drawn = level % 2 === 1 ? turned(letters) : letters;
        const last = index === runs.length - 1;
        const width = measure(drawn, font);
        atoms.push({ text: drawn, font, link: span.link, level, blank, width, mayBreak: last && mayBreak });
      });
      start = end;
    }
  }
  return { atoms, level: paragraphs[0]?.level ?? 0 };
}

/** The atom letter by letter, for a word that is wider than the line. */
export function letters(atom: Atom, measure: Measure): Atom[] {
  return Array.from(graphemes.segment(atom.text), ({ segment }) => ({
    ...atom,
    text: segment,
    width: measure(segment, atom.font),
    mayBreak: true,
  }));
}

/** From left to right: the bidirectional algorithm's rule L2. */
export function inVisualOrder(line: readonly Atom[]): Atom[] {
  const order = [...line];
  for (let level = Math.max(0, ...order.map((atom) => atom.level)); level > 0; level--) {
    for (let start = 0; start < order.length; start++) {
      let end = start;
      while ((order[end]?.level ?? -1) >= level) end++;
      if (end > start + 1) order.splice(start, end - start, ...order.slice(start, end).reverse());
      start = Math.max(start, end - 1);
    }
  }
  return order;
}

function breaksIn(text: string): Set<number> {
  const breaks = new Set<number>();
  const breaker = new LineBreaker(text);
  for (let next = breaker.nextBreak(); next !== null; next = breaker.nextBreak()) breaks.add(next.position);
  return breaks;
}

/** Brackets face the other way. A font's layout turns letters of a right-to-left script round, signs alone it leaves as they are. */
function turned(text: string): string {
  const mirrored = Array.from(text, (letter) => bidi.getMirroredCharacter(letter) ?? letter);
  return rightToLeftLetter.test(text) ? mirrored.join('') : mirrored.reverse().join('');
}

function isBlank(letter: string | undefined): boolean {
  return letter === ' ' || letter === '\u3000';
}
