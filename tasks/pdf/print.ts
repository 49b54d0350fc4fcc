import { TaskError } from '../../lib/task.ts';
import { plainBlocks } from './blocks.ts';
import { drawBlock } from './draw.ts';
import { openFonts } from './fonts.ts';
import type { Wish } from './job.ts';
import { markdownBlocks } from './markdown.ts';
import type { Progress } from './pages.ts';
import { openWriter, pageSizes } from './paper.ts';
import { openSheet } from './sheet.ts';

export type Printed = {
  readonly bytes: Uint8Array;
  readonly pageCount: number;
  /** Characters that no font has; each is a � on its page. */
  readonly replacedCharacters: number;
};

/** Some 500 pages of prose; what is laid out at once must fit into the thread. */
export const maxTextBytes = 2_000_000;
/**
 * Pages with a text, in UTF-8, or a Markdown document; a page number stands nowhere. Letters are embedded, only those that are used. Throws `TaskError`
 * `not_utf8`, `text_too_large`, `too_many_pages` or `too_complex`.
 */
export async function print(
  bytes: Uint8Array,
  form: 'plain' | 'markdown',
  { title, pageSize = 'A4' }: Wish,
  progress: Progress,
): Promise<Printed> {
  const text = textOf(bytes);
  const blocks = form === 'plain' ? plainBlocks(text) : markdownBlocks(text);
  const fonts = openFonts(text);
  const writer = openWriter(title);
  const sheet = openSheet(writer.pdf, pageSizes[pageSize]);
  let printed = 0;
  sheet.onTurn((page) => progress(Math.min(100, (100 * printed) / (text.length + 1)), `page ${page}`));
  sheet.turn();
  for (const block of blocks) {
    drawBlock(block, fonts, writer.pdf, sheet);
    if (block.kind === 'text') printed += block.spans.reduce((sum, span) => sum + span.text.length + 1, 0);
  }
  if (fonts.replaced > 0) Object.assign(writer.pdf.info, { ReplacedCharacters: String(fonts.replaced) });
  return { bytes: await writer.end(), pageCount: sheet.pageCount, replacedCharacters: fonts.replaced };
}

/** In composed form, as fonts have it, with one kind of line end. */
function textOf(bytes: Uint8Array): string {
  if (bytes.length > maxTextBytes) {
    const message = `the text has ${bytes.length} bytes, at most ${maxTextBytes} are printed`;
    throw new TaskError('text_too_large', message);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n').normalize('NFC');
  } catch (error) {
    throw new TaskError('not_utf8', 'expected text in UTF-8', { cause: error });
  }
}
