import { maxResultBytes, TaskError } from '../../lib/task.ts';
import { infoOf } from './info.ts';
import { lineText, type Piece } from './line.ts';
import { type Opened, open } from './open.ts';
import { type PageRange, pagesWithin } from './page-ranges.ts';
import { tidy } from './tidy.ts';
import { refuseTooComplex, tooComplex } from './too-complex.ts';

export type Page = { readonly page: number; readonly text: string; readonly damaged?: true };

export type PdfText = {
  readonly pageCount: number;
  readonly encrypted: boolean;
  readonly textFound: boolean;
  readonly incomplete?: true;
  readonly info: Readonly<Record<string, string>>;
  readonly pages: readonly Page[];
};

export type Progress = (percent: number, message: string) => void;

type DocumentPage = Awaited<ReturnType<Opened['document']['getPage']>>;

/** Of one page: a whole novel. */
const maxPageCharacters = 1_000_000;
/** That are read at once; of a longer document ranges are. */
export const maxPages = 100_000;

/** Text of the pages in order; throws `TaskError` for what the document is to blame for. Takes `bytes` over. */
export async function readPages(bytes: Uint8Array, ranges: readonly PageRange[], progress: Progress): Promise<PdfText> {
  const opened = await open(bytes);
  const pageCount = opened.document.numPages;
  if (pageCount === 0) throw new TaskError('no_pages', 'the document has no pages');
  const asked = pagesWithin(ranges, pageCount);
  const total = asked.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (total > maxPages) {
    const detail = `${total} pages of the document's ${pageCount} were asked for, at most ${maxPages} are read at once`;
    throw new TaskError('too_many_pages', detail);
  }
  const pages: Page[] = [];
  let leftBytes = maxResultBytes;
  for (const { first, last } of asked) {
    for (let page = first; page <= last; page++) {
      const read = await readPage(opened, page);
      leftBytes -= Buffer.byteLength(JSON.stringify(read));
      if (leftBytes < 0) throw tooLarge(page);
      pages.push(read);
      progress((100 * pages.length) / total, `page ${page} of ${pageCount}`);
    }
  }
  if (pages.every(({ damaged }) => damaged)) throw new TaskError('damaged_pdf', 'none of the pages can be read');
  return {
    pageCount,
    encrypted: typeof opened.info.EncryptFilterName === 'string',
    textFound: pages.some(({ text }) => text !== ''),
    ...(pages.some(({ damaged }) => damaged) && { incomplete: true }),
    info: infoOf(opened.info),
    pages,
  };
}

async function readPage({ document, info }: Opened, page: number): Promise<Page> {
  try {
    const source = await document.getPage(page);
    const lines = await linesOf(source);
    if (info.IsAcroFormPresent === true) lines.push(...(await fieldsOf(source)));
    source.cleanup();
    return { page, text: tidy(lines.join('\n')) };
  } catch (error) {
    if (error instanceof TaskError) throw error;
    refuseTooComplex(error);
    return { page, text: '', damaged: true };
  }
}

/** Piece by piece, not with getTextContent: a page may have millions. */
async function linesOf(source: DocumentPage): Promise<string[]> {
  const lines: string[] = [];
  let line: Piece[] = [];
  let left = maxPageCharacters;
  const reader: ReadableStreamDefaultReader<{ items: (Piece & { hasEOL: boolean })[] }> = source
    .streamTextContent()
    .getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const item of part.value.items) {
      line.push(item);
      left -= item.str.length + 1;
      if (left < 0) throw tooComplex(`a page has more than ${maxPageCharacters} characters`);
      if (!item.hasEOL) continue;
      lines.push(lineText(line));
      line = [];
    }
  }
  lines.push(lineText(line));
  return lines;
}

/** What is filled into the form: shown on the page, but no part of its text. */
async function fieldsOf(source: DocumentPage): Promise<string[]> {
  const fields: { fieldType?: string; fieldValue?: unknown; hidden?: boolean; password?: boolean }[] =
    await source.getAnnotations();
  const shown = fields.filter(
    ({ fieldType, hidden, password }) => /^(Tx|Ch)$/.test(fieldType ?? '') && !hidden && !password,
  );
  return shown.flatMap(({ fieldValue }) => fieldValue).filter((value) => typeof value === 'string');
}

function tooLarge(page: number): TaskError {
  const message = `the text before page ${page} fits into the ${maxResultBytes} bytes of a result; ask for the rest with pages: "${page}-"`;
  return new TaskError('result_too_large', message);
}
