import { decodeNamedCharacterReference } from 'decode-named-character-reference';
import { marked, type Token, type Tokens } from 'marked';
import type { Span } from './atoms.ts';
import { type Block, untabbed } from './blocks.ts';
import type { Face } from './fonts.ts';
import { refuseTooComplex } from './too-complex.ts';

type Look = { readonly bold?: boolean; readonly italic?: boolean; readonly mono?: boolean; readonly link?: string };
type Place = { readonly left: number; readonly marker?: string | undefined; readonly tight?: boolean };

const bodyPoints = 11;
const codePoints = 9.5;
const headingPoints = [22, 18, 15, 13, 12, 11];
const indentPoints = 20;
/** However deep a list or a quotation is nested. */
const maxLeftPoints = 240;
const [empty, ticked, dot] = ['☐', '☑', '•'];

/**
 * GitHub's Markdown as blocks: headings, paragraphs, emphasis, links, lists, tasks, quotations, code, rules. A table's cells stand in a line each row, a picture is
 * its description, HTML is shown as it is written. Throws `TaskError` `too_complex` when it is nested too deeply.
 */
export function markdownBlocks(text: string): Iterable<Block> {
  try {
    return [...blocksOf(marked.lexer(text), { left: 0 })];
  } catch (error) {
    refuseTooComplex(error);
    throw error;
  }
}

function* blocksOf(tokens: readonly Token[], place: Place): Generator<Block> {
  let marker = place.marker;
  for (const token of tokens) {
    for (const block of blocksOfToken(token as Tokens.Generic, { ...place, marker })) {
      yield block;
      marker = undefined;
    }
  }
  // An empty item of a list is an item.
  if (marker !== undefined) yield textBlock([], { ...place, marker });
}

function* blocksOfToken(token: Tokens.Generic, place: Place): Generator<Block> {
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox':
      return;
    case 'hr':
      return yield { kind: 'rule', before: bodyPoints };
    case 'heading': {
      const size = headingPoints[token.depth - 1] ?? bodyPoints;
      return yield { ...textBlock(spansOf(token.tokens, { bold: true }), place), size, before: size, keep: true };
    }
    case 'code':
      return yield* codeBlocks(token.text, place);
    case 'blockquote':
      return yield* blocksOf(token.tokens ?? [], { left: indented(place), marker: place.marker });
    case 'list':
      return yield* listBlocks(token as Tokens.List, place);
    case 'table':
      return yield* tableBlocks(token as Tokens.Table, place);
    default:
      return yield textBlock(spansOf(token.tokens ?? [token as Token], {}), place);
  }
}

function* listBlocks({ items, ordered, start, loose }: Tokens.List, place: Place): Generator<Block> {
  for (const [index, item] of items.entries()) {
    const number = ordered ? `${Number(start || 1) + index}.` : dot;
    const marker = item.task ? (item.checked ? ticked : empty) : number;
    const tight = !loose && (index > 0 || place.tight === true);
    yield* blocksOf(item.tokens, { left: indented(place), marker, tight });
  }
}

function* codeBlocks(code: string, place: Place): Generator<Block> {
  for (const [index, line] of code.split('\n').entries()) {
    const spans: Span[] = [{ text: untabbed(line), face: 'mono' }];
    yield {
      ...textBlock(spans, place),
      size: codePoints,
      left: indented(place),
      before: index === 0 ? bodyPoints / 2 : 0,
    };
  }
}

function* tableBlocks({ header, rows }: Tokens.Table, place: Place): Generator<Block> {
  for (const [index, row] of [header, ...rows].entries()) {
    const look = { bold: index === 0 };
    const spans = row.flatMap(({ tokens }, column) => [
      ...(column > 0 ? [{ text: ' | ', face: 'regular' as const }] : []),
      ...spansOf(tokens, look),
    ]);
    yield textBlock(spans, { ...place, tight: index > 0 });
  }
}

function textBlock(spans: readonly Span[], { left, marker, tight }: Place): Block & { kind: 'text' } {
  const before = tight ? bodyPoints / 5 : bodyPoints / 2;
  return { kind: 'text', spans, size: bodyPoints, left, before, ...(marker === undefined ? {} : { marker }) };
}

function indented({ left }: Place): number {
  return Math.min(left + indentPoints, maxLeftPoints);
}

function spansOf(tokens: readonly Token[] = [], look: Look): Span[] {
  return (tokens as Tokens.Generic[]).flatMap((token): Span[] => {
    switch (token.type) {
      case 'strong':
        return spansOf(token.tokens, { ...look, bold: true });
      case 'em':
        return spansOf(token.tokens, { ...look, italic: true });
      case 'link':
        return spansOf(token.tokens, /^(https?|mailto):/i.test(token.href) ? { ...look, link: token.href } : look);
      case 'codespan':
        return [span(oneLine(token.text), { ...look, mono: true })];
      case 'br':
        return [span('\n', look)];
      case 'checkbox':
        return [];
      case 'html':
        return [span(token.text.trimEnd(), look)];
      case 'escape':
        return [span(token.text, look)];
      default:
        return token.tokens === undefined ? [span(oneLine(decoded(token.text)), look)] : spansOf(token.tokens, look);
    }
  });
}

function span(text: string, { bold = false, italic = false, mono = false, link }: Look): Span {
  const upright: Face = bold ? 'bold' : 'regular';
  const face = mono ? 'mono' : italic ? (bold ? 'boldItalic' : 'italic') : upright;
  return { text, face, link };
}

/** A line's end within a paragraph is a space. */
function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').replaceAll('\t', ' ');
}

/** `&copy; &#8364;` is `© €`. */
function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z\d]{2,31}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return decodeNamedCharacterReference(name) || whole;
    const codePoint = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return codePoint > 0 && codePoint <= 0x10ffff ? String.fromCodePoint(codePoint).toWellFormed() : '\ufffd';
  });
}
