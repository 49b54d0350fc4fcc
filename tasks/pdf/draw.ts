import type { Atom, Measure } from './atoms.ts';
import type { Block } from './blocks.ts';
import type { Fonts, OpenFont } from './fonts.ts';
import { type Line, linesOf } from './lines.ts';
import type { Sheet } from './sheet.ts';

type Pdf = PDFKit.PDFDocument;
type TextBlock = Block & { readonly kind: 'text' };

/** Of the letters' size: from line to line, and from a line's top to its letters' feet. */
const lineHeight = 1.35;
const baseline = 1.02;
const markerGapPoints = 6;
const linkColour = '#0645ad';
/** Lines of what follows that a heading needs below it. */
const keptLines = 3;

/** Draws one block below what is there, on further pages as it needs them. */
export function drawBlock(block: Block, fonts: Fonts, pdf: Pdf, sheet: Sheet): void {
  switch (block.kind) {
    case 'pageEnd':
      sheet.turn();
      break;
    case 'rule':
      sheet.skip(block.before);
      sheet.makeRoom(block.before);
      pdf.moveTo(sheet.left, sheet.y).lineTo(sheet.right, sheet.y).lineWidth(0.5).stroke('#888888');
      sheet.advance(block.before / 2);
      break;
    case 'text':
      drawText(block, fonts, pdf, sheet);
  }
}

function drawText(block: TextBlock, fonts: Fonts, pdf: Pdf, sheet: Sheet): void {
  const { spans, size, marker } = block;
  const measure: Measure = (text, font) => size * font.widthOf(text);
  const from = sheet.left + block.left;
  const width = sheet.right - from;
  const points = size * lineHeight;
  sheet.skip(block.before);
  linesOf(spans, fonts, measure, width).forEach((line, index) => {
    sheet.makeRoom(block.keep ? keptLines * points : points);
    const base = sheet.y + size * baseline;
    if (index === 0 && marker !== undefined) {
      const [dot] = linesOf([{ text: marker, face: 'regular' }], fonts, measure, width);
      if (dot !== undefined) drawLine(pdf, dot, size, from - markerGapPoints - dot.width, base);
    }
    drawLine(pdf, line, size, line.rightToLeft ? sheet.right - line.width : from, base);
    sheet.advance(points);
  });
}

function drawLine(pdf: Pdf, { atoms }: Line, size: number, left: number, base: number): void {
  let x = left;
  for (const { text, font, link, width, level } of joined(atoms)) {
    // Blanks between words that run to the left need not be drawn, and would be read as words.
    if (level % 2 === 0 || text.trim() !== '') {
      inFont(pdf, font, size).fillColor(link === undefined ? 'black' : linkColour);
      pdf.text(text, x, base, { lineBreak: false, baseline: 'alphabetic', ...measured(width) });
    }
    if (link !== undefined) pdf.link(x, base - size, width, size * lineHeight, link);
    x += width;
  }
}

/** Neighbours that run to the right and look alike are one text: fewer orders, and words that are found again. */
function joined(atoms: readonly Atom[]): Atom[] {
  const whole: Atom[] = [];
  for (const atom of atoms) {
    const before = whole.at(-1);
    const alike = before?.font === atom.font && before.link === atom.link && before.level % 2 === 0;
    if (before !== undefined && alike && atom.level % 2 === 0)
      whole[whole.length - 1] = { ...before, text: before.text + atom.text, width: before.width + atom.width };
    else whole.push(atom);
  }
  return whole;
}

function inFont(pdf: Pdf, { name, font }: OpenFont, size: number): Pdf {
  // Types lag behind: pdfkit takes a font that is open, and knows it again by the name.
  return pdf.font(font as never, name, size);
}

/** What pdfkit would measure again; only a text that is justified needs its words counted. */
function measured(width: number): object {
  return { textWidth: width, wordCount: 1 };
}
