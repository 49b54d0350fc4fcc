/** A piece of a line as pdf.js gives it: `str` in reading order, `transform` its place, x at 4. */
export type Piece = {
  readonly str: string;
  readonly dir: string;
  readonly width: number;
  readonly transform: readonly number[];
};

type Placed = { readonly text: string; readonly rightToLeft: boolean; readonly left: number; readonly right: number };

/** Shapes of Arabic letters, and the radicals that Chromium writes in place of Chinese characters. */
const shapes = /[\u2e80-\u2fdf\ufb50-\ufdff\ufe70-\ufefc]/g;
const rightToLeftLetters = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/gu;
const otherLetters = /\p{L}/gu;
/** A gap wider than this part of the letters' height is a space between words. */
const spaceWidth = 0.15;

/**
 * The text of one line. Pieces from left to right are joined as they come; a line with Hebrew or Arabic is put in reading order by where its pieces
 * are, because producers draw its words, or its letters, in any order: `["שלום", " ", "12", …]` at x 300, 290, 270 reads from the right, `12` from the left.
 */
export function lineText(pieces: readonly Piece[]): string {
  const joined = pieces.map(({ str }) => str).join('');
  const level = pieces.every(({ transform }) => transform[1] === 0);
  if (!level || joined.search(rightToLeftLetters) < 0) return modern(joined);
  const letters = count(joined, rightToLeftLetters);
  const rightToLeft = letters >= count(joined, otherLetters) - letters;
  const height = pieces.reduce((most, { transform }) => Math.max(most, Math.abs(transform[3] ?? 0)), 0);
  const placed = pieces.filter(({ str }) => str.trim() !== '').map(place);
  const fromLeft = placed.toSorted((a, b) => a.left - b.left);
  // A run against the line's direction is read the other way round, within a line that is read in its own.
  const runs = runsOf(directed(fromLeft, rightToLeft)).map((run) => (run[0]?.rightToLeft ? run.toReversed() : run));
  return join((rightToLeft ? runs.toReversed() : runs).flat(), height * spaceWidth);
}

function place({ str, dir, width, transform }: Piece): Placed {
  const left = transform[4] ?? 0;
  return { text: modern(str), rightToLeft: dir === 'rtl', left, right: left + width };
}

/** Signs alone, such as a bracket, go the way of both their neighbours, or else of the line. */
function directed(placed: readonly Placed[], line: boolean): Placed[] {
  const before = lastWords(placed, line);
  const after = lastWords(placed.toReversed(), line).toReversed();
  return placed.map((piece, at) => ({ ...piece, rightToLeft: before[at] === after[at] ? before[at] === true : line }));
}

/** The direction of each piece, or for a sign that of the last word before it. */
function lastWords(placed: readonly Placed[], line: boolean): boolean[] {
  let last = line;
  return placed.map(({ text, rightToLeft }) => {
    if (/[\p{L}\p{N}]/u.test(text)) last = rightToLeft;
    return last;
  });
}

/** Neighbours of one direction. */
function runsOf(placed: readonly Placed[]): Placed[][] {
  const runs: Placed[][] = [];
  for (const piece of placed) {
    const run = runs.at(-1);
    if (run !== undefined && run[0]?.rightToLeft === piece.rightToLeft) run.push(piece);
    else runs.push([piece]);
  }
  return runs;
}

function join(placed: readonly Placed[], space: number): string {
  let text = '';
  let before: Placed | undefined;
  for (const piece of placed) {
    const gap = before && Math.max(piece.left - before.right, before.left - piece.right);
    const apart = gap !== undefined && gap > space && !text.endsWith(' ') && !piece.text.startsWith(' ');
    text += apart ? ` ${piece.text}` : piece.text;
    before = piece;
  }
  return text;
}

function modern(text: string): string {
  return text.replace(shapes, (shape) => shape.normalize('NFKC'));
}

function count(text: string, letters: RegExp): number {
  return text.match(letters)?.length ?? 0;
}
