import { TaskError } from '../../lib/task.ts';
import type { Size } from './paper.ts';

/** Two million empty lines, which is what a text may be, are 30,000 pages. */
export const maxPrintedPages = 5_000;
const marginPoints = 56;

/** Where the next line goes. Lengths are in points, from the upper left corner. */
export type Sheet = {
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly pageCount: number;
  /** Begins a page; throws `TaskError` `too_many_pages`. */
  turn(): void;
  onTurn(listener: (page: number) => void): void;
  /** Leaves space, except at the top of a page. */
  skip(points: number): void;
  /** Begins a page unless that much is left of this one. */
  makeRoom(points: number): void;
  advance(points: number): void;
};

export function openSheet(pdf: PDFKit.PDFDocument, [width, height]: Size): Sheet {
  let [pageCount, y] = [0, 0];
  let turned = (_page: number) => {};
  const turn = () => {
    if (pageCount === maxPrintedPages) {
      throw new TaskError('too_many_pages', `the text needs more than the ${maxPrintedPages} pages that are printed`);
    }
    pdf.addPage({ size: [width, height], margin: 0 });
    pageCount++;
    y = marginPoints;
    turned(pageCount);
  };
  return {
    left: marginPoints,
    right: width - marginPoints,
    get y() {
      return y;
    },
    get pageCount() {
      return pageCount;
    },
    turn,
    onTurn(listener) {
      turned = listener;
    },
    skip(points) {
      if (y > marginPoints) y += points;
    },
    makeRoom(points) {
      if (y + points > height - marginPoints) turn();
    },
    advance(points) {
      y += points;
    },
  };
}
