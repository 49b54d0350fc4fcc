import { type Atom, atomsOf, inVisualOrder, letters, type Measure, type Span } from './atoms.ts';
import type { Fonts } from './fonts.ts';

/** One line as it is drawn, from left to right. */
export type Line = { readonly atoms: readonly Atom[]; readonly width: number; readonly rightToLeft: boolean };

/** Longer paragraphs are cut: an atom may be a single character, and a paragraph the whole file. */
const maxParagraphCharacters = 20_000;

/** The lines of a text that is `width` wide at most. `\n` ends a line; a word wider than a line is cut. */
export function linesOf(spans: readonly Span[], fonts: Fonts, measure: Measure, width: number): Line[] {
  return paragraphsOf(spans).flatMap((paragraph) => {
    const { atoms, level } = atomsOf(paragraph, fonts, measure);
    return filled(atoms, measure, width).map((line) => {
      const drawn = withoutEnd(line);
      return { atoms: inVisualOrder(drawn), width: widthOf(drawn), rightToLeft: level % 2 === 1 };
    });
  });
}

/** At least one, as even an empty text is a line. */
function paragraphsOf(spans: readonly Span[]): Span[][] {
  const paragraphs: Span[][] = [[]];
  let length = 0;
  for (const { text, ...look } of spans) {
    text.split('\n').forEach((piece, index) => {
      if (index > 0) length = paragraphs.push([]) && 0;
      for (let rest = piece; rest !== ''; ) {
        if (length === maxParagraphCharacters) length = paragraphs.push([]) && 0;
        const part = rest.slice(0, maxParagraphCharacters - length);
        paragraphs.at(-1)?.push({ text: part, ...look });
        length += part.length;
        rest = rest.slice(part.length);
      }
    });
  }
  return paragraphs;
}

/** As many words to a line as fit. */
function filled(atoms: readonly Atom[], measure: Measure, width: number): Atom[][] {
  const lines: Atom[][] = [[]];
  let left = width;
  const put = (word: readonly Atom[]) => {
    if (widthOf(withoutEnd(word)) > left) {
      lines.push([]);
      left = width;
    }
    lines.at(-1)?.push(...word);
    left -= widthOf(word);
  };
  for (const word of wordsOf(atoms)) {
    if (widthOf(withoutEnd(word)) <= width) put(word);
    else for (const letter of word.flatMap((atom) => letters(atom, measure))) put([letter]);
  }
  return lines;
}

function* wordsOf(atoms: readonly Atom[]): Generator<Atom[]> {
  let word: Atom[] = [];
  for (const atom of atoms) {
    word.push(atom);
    if (!atom.mayBreak) continue;
    yield word;
    word = [];
  }
  if (word.length > 0) yield word;
}

/** Blanks at a line's end are not drawn. */
function withoutEnd(line: readonly Atom[]): readonly Atom[] {
  return line.slice(0, line.findLastIndex(({ blank }) => !blank) + 1);
}

function widthOf(line: readonly Atom[]): number {
  return line.reduce((sum, atom) => sum + atom.width, 0);
}
