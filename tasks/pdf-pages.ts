import { maxResultBytes, TaskError } from '../lib/task.ts';
import { lineText, type Piece } from './pdf-line.ts';

export type Order = {
  readonly bytes: Uint8Array;
  /** From 1. */
  readonly firstPage: number;
  /** Included; absent means to the end. */
  readonly lastPage: number | undefined;
};

export type Page = { readonly page: number; readonly text: string; readonly damaged?: true };

export type PdfText = {
  readonly pageCount: number;
  readonly textFound: boolean;
  readonly incomplete?: true;
  readonly info?: Readonly<Record<string, string>>;
  readonly pages: readonly Page[];
};

export type Reader = (order: Order, progress: (percent: number, message: string) => void) => Promise<PdfText>;

type Opened = {
  readonly document: Awaited<ReturnType<typeof import('unpdf').getDocumentProxy>>;
  /** What the document says of itself. */
  readonly info: Readonly<Record<string, unknown>>;
  /** Whether a font asked for a character map that is not there, so that its text is missing. */
  lacksMap(): boolean;
};
type DocumentPage = Awaited<ReturnType<Opened['document']['getPage']>>;

/** The size of a result that Weir refuses: what is larger need not be read to its end. */
/** Far more than fits into a result, so that what is cut here is refused by its size. */
const maxPageCharacters = 1_000_000;
const maxInfoCharacters = 300;
const infoFields = ['Title', 'Author', 'Subject', 'Keywords', 'Creator', 'Producer'] as const;

/** Text of the pages in order; throws `TaskError` for what the document is to blame for. Takes `order.bytes` over. */
export const readPages: Reader = async ({ bytes, firstPage, lastPage }, progress) => {
  const opened = await open(bytes);
  const pageCount = opened.document.numPages;
  if (pageCount === 0) throw new TaskError('no_pages', 'the document has no pages');
  if (firstPage > pageCount) throw new TaskError('no_such_page', `the document ends with page ${pageCount}`);
  const last = Math.min(lastPage ?? pageCount, pageCount);
  const pages: Page[] = [];
  let leftBytes = maxResultBytes;
  for (let page = firstPage; page <= last; page++) {
    const read = await readPage(opened, page);
    leftBytes -= Buffer.byteLength(JSON.stringify(read));
    if (leftBytes < 0) throw tooLarge(firstPage, page, pageCount);
    pages.push(read);
    progress((100 * (page - firstPage + 1)) / (last - firstPage + 1), `page ${page} of ${pageCount}`);
  }
  if (pages.every(({ damaged }) => damaged)) throw new TaskError('damaged_pdf', 'none of the pages can be read');
  const incomplete = opened.lacksMap() || pages.some(({ damaged }) => damaged);
  return {
    pageCount,
    textFound: pages.some(({ text }) => text !== ''),
    ...(incomplete && { incomplete }),
    ...infoOf(opened),
    pages,
  };
};

export function tooComplex(why: string, cause?: unknown): TaskError {
  return new TaskError('too_complex', `the document is too complex: ${why}`, { cause });
}

async function open(bytes: Uint8Array): Promise<Opened> {
  const { getDocumentProxy } = await import('unpdf');
  let lacksMap = false;
  class NoData {
    async fetch({ kind }: { kind: string }): Promise<never> {
      if (kind === 'cMapUrl') lacksMap = true;
      throw new Error(`no ${kind} in this version`);
    }
  }
  try {
    const options = { verbosity: 0, cMapUrl: 'none/', standardFontDataUrl: 'none/', BinaryDataFactory: NoData };
    const document = await getDocumentProxy(bytes, options);
    const { info } = await document.getMetadata();
    return { document, info: { ...info }, lacksMap: () => lacksMap };
  } catch (error) {
    refuseTooComplex(error);
    if (error instanceof Error && error.name === 'PasswordException')
      throw new TaskError('encrypted_pdf', 'the document opens with a password only', { cause: error });
    throw new TaskError('damaged_pdf', 'the document is no PDF or is damaged beyond reading', { cause: error });
  }
}

async function readPage({ document, info }: Opened, page: number): Promise<Page> {
  try {
    const source = await document.getPage(page);
    const lines = await linesOf(source);
    if (info.IsAcroFormPresent === true) lines.push(...(await fieldsOf(source)));
    source.cleanup();
    return { page, text: tidy(lines.join('\n')) };
  } catch (error) {
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
  for (let part = await reader.read(); !part.done && left >= 0; part = await reader.read()) {
    for (const item of part.value.items) {
      line.push(item);
      left -= item.str.length + 1;
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

/** Without control characters, halves of surrogate pairs and space at the end of lines. */
function tidy(text: string): string {
  return text
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .toWellFormed()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
}

function infoOf({ info }: Opened): Pick<PdfText, 'info'> {
  const entries = infoFields.flatMap((field) => {
    const value = info[field];
    const text = typeof value === 'string' ? tidy(value).slice(0, maxInfoCharacters).toWellFormed() : '';
    return text === '' ? [] : [[field.toLowerCase(), text]];
  });
  return entries.length === 0 ? {} : { info: Object.fromEntries(entries) };
}

/** pdf.js passes on what V8 says when no array can be that long or no memory is left, under a name of its own. */
function refuseTooComplex(error: unknown): void {
  if (error instanceof Error && /allocation failed|Invalid (array|typed array|string) length/.test(error.message))
    throw tooComplex('a part of it does not fit into memory', error);
}

function tooLarge(first: number, page: number, pageCount: number): TaskError {
  const message =
    page === first
      ? `page ${page} alone has more text than the ${maxResultBytes} bytes of a result`
      : `the text up to page ${page - 1} of ${pageCount} fits into the ${maxResultBytes} bytes of a result; ask for parts with firstPage and lastPage`;
  return new TaskError('result_too_large', message);
}
