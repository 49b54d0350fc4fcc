import { TaskError } from '../../lib/task.ts';

/** `last` is included; absent means to the end. */
export type PageRange = { readonly first: number; readonly last?: number | undefined };

/** The longest `pages` that is read: some fifty ranges. */
export const maxPagesCharacters = 400;
const maxPageNumber = 1_000_000;
const shape = /^(?<first>\d{1,9})(?<to>-(?<last>\d{1,9})?)?$/;

/** What is wrong with `pages`, or undefined: `"1-3,7"` is pages 1, 2, 3 and 7, `"5-"` is page 5 and all that follow. */
export function faultInPages(pages: string): string | undefined {
  for (const part of parts(pages)) {
    const { first, last } = shape.exec(part)?.groups ?? {};
    if (first === undefined) return `expected page numbers and ranges such as 1-3,7 or 5-, got ${JSON.stringify(part)}`;
    if (Number(first) < 1) return 'expected pages from 1';
    if (Math.max(Number(first), Number(last ?? 1)) > maxPageNumber) return `expected pages up to ${maxPageNumber}`;
    if (last !== undefined && Number(last) < Number(first)) return `expected a range that ascends, got ${part}`;
  }
  return undefined;
}

/** The ranges of `pages` in which `faultInPages` finds nothing; all pages when it is absent. */
export function rangesOf(pages: string | undefined): PageRange[] {
  if (pages === undefined) return [{ first: 1 }];
  return parts(pages).map((part) => {
    const { first, to, last = to === undefined ? first : undefined } = shape.exec(part)?.groups ?? {};
    return { first: Number(first), last: last === undefined ? undefined : Number(last) };
  });
}

/**
 * The ranges in ascending order, each page once: `1-3,2-5,9-` of 10 pages is 1 to 5 and 9 to 10. Throws `TaskError` `no_such_page` when the document ends
 * before a page that was asked for.
 */
export function pagesWithin(ranges: readonly PageRange[], pageCount: number): { first: number; last: number }[] {
  const merged: { first: number; last: number }[] = [];
  for (const { first, last = pageCount } of ranges.toSorted((a, b) => a.first - b.first)) {
    const missing = first > pageCount ? first : last;
    if (missing > pageCount) {
      throw new TaskError('no_such_page', `the document ends with page ${pageCount}, page ${missing} was asked for`);
    }
    const before = merged.at(-1);
    if (before !== undefined && first <= before.last + 1) before.last = Math.max(before.last, last);
    else merged.push({ first, last });
  }
  return merged;
}

function parts(pages: string): string[] {
  return pages.split(',').map((part) => part.trim());
}
