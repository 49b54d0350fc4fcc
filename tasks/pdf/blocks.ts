import type { Span } from './atoms.ts';

/** What a text is printed from, top to bottom. Lengths are in points. */
export type Block =
  | {
      readonly kind: 'text';
      readonly spans: readonly Span[];
      readonly size: number;
      /** From the left margin. */
      readonly left: number;
      /** Space above, except at the top of a page. */
      readonly before: number;
      /** Stands to the left of the first line: a list's dot or number. */
      readonly marker?: string;
      /** Stays on the page of what follows: a heading. */
      readonly keep?: boolean;
    }
  | { readonly kind: 'rule'; readonly before: number }
  | { readonly kind: 'pageEnd' };

/** 80 letters of DejaVu Sans Mono, 0.602 of their size each, between the margins of an A4 page. */
const monoPoints = 10;
const tabStop = 8;

/** A text file: each line a line, in letters of one width; a form feed ends the page. */
export function* plainBlocks(text: string): Generator<Block> {
  for (const [index, page] of text.split('\f').entries()) {
    if (index > 0) yield { kind: 'pageEnd' };
    for (const line of page.split('\n'))
      yield { kind: 'text', spans: [{ text: untabbed(line), face: 'mono' }], size: monoPoints, left: 0, before: 0 };
  }
}

/** Each tab is the spaces up to the next stop. */
export function untabbed(line: string): string {
  if (!line.includes('\t')) return line;
  let out = '';
  for (const [index, part] of line.split('\t').entries()) {
    if (index > 0) out += ' '.repeat(tabStop - (out.length % tabStop));
    out += part;
  }
  return out;
}
