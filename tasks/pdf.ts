import * as z from 'zod';
import { defineTask, resultFile, TaskError, type TaskFile } from '../lib/task.ts';
import type { Order } from './pdf/job.ts';
import { faultInPages, maxPagesCharacters, rangesOf } from './pdf/page-ranges.ts';

/** Converting a document must not take longer: a second try would not be faster. */
const maxConvertMs = 100_000;
const maxFetchMs = 20_000;
const maxTitleCharacters = 300;

const pages = z
  .string()
  .max(maxPagesCharacters)
  .superRefine((text, { addIssue }) => {
    const fault = faultInPages(text);
    if (fault !== undefined) addIssue(fault);
  });
const toText = z.strictObject({ to: z.literal('text'), pages: pages.optional() });
const toPdf = z.strictObject({
  to: z.literal('pdf'),
  title: z.string().trim().min(1).max(maxTitleCharacters).optional(),
  pageSize: z.enum(['A4', 'Letter']).optional(),
});
const input = z.discriminatedUnion('to', [toText, toPdf]);

/** What `to` takes. */
const sources = {
  text: ['application/pdf'],
  pdf: ['image/png', 'image/jpeg', 'text/plain', 'text/markdown'],
} as const;

/**
 * PDF to text, and pictures, text and Markdown to PDF; [docs/conversions-pdf.md](../docs/conversions-pdf.md) has the whole of it.
 *
 *     { "to": "text", "pages": "1-3,7" } of application/pdf: {
 *       "pageCount": 9, "encrypted": false, "textFound": true, "info": { "title": "Tides", "producer": "cairo 1.16.0" },
 *       "pages": [{ "page": 1, "text": "First line\nsecond line" }, …] }
 *     { "to": "pdf", "title": "Tides", "pageSize": "A4" } of image/png, image/jpeg, text/plain, text/markdown: a file
 *
 * Fails for good, with nothing to retry, by a code that says what is wrong with the document, as `unsupported_conversion` when `to` does not take its media
 * type. Runs in a thread with ceilings on its time and memory, so that a few kilobytes that unpack to gigabytes end as `too_complex`.
 */
export default defineTask({
  api: 'conversions/pdf',
  pool: 'conversions',
  input,
  files: { document: { mediaTypes: [...sources.text, ...sources.pdf], maxBytes: 50_000_000 } },
  timeoutMs: maxFetchMs + maxConvertMs,
  async run({ input, files: { document }, ctx }) {
    refuseUnsupported(input.to, document.mediaType);
    const { performInThread } = await import('./pdf/thread.ts');
    const made = await performInThread(orderOf(input, document, await document.bytes()), maxConvertMs, ctx);
    if (made.kind === 'text') return made.text;
    const { bytes, pageCount, replacedCharacters } = made;
    ctx.log('made a PDF', { pageCount, replacedCharacters, bytes: bytes.length });
    return resultFile({ bytes, mediaType: 'application/pdf', name: nameOf(document) });
  },
});

function refuseUnsupported(to: 'text' | 'pdf', mediaType: string): void {
  const taken: readonly string[] = sources[to];
  if (taken.includes(mediaType)) return;
  const message = `${mediaType} cannot be converted to ${to}, which takes ${taken.join(', ')}`;
  throw new TaskError('unsupported_conversion', message);
}

function orderOf(input: z.output<typeof toText | typeof toPdf>, { mediaType }: TaskFile, bytes: Uint8Array): Order {
  if (input.to === 'text') return { kind: 'read', bytes, ranges: rangesOf(input.pages) };
  const wish = { title: input.title, pageSize: input.pageSize };
  if (mediaType.startsWith('image/')) return { kind: 'frame', bytes, wish };
  return { kind: 'print', bytes, form: mediaType === 'text/markdown' ? 'markdown' : 'plain', wish };
}

/** `minutes.md` becomes `minutes.pdf`. */
function nameOf({ name = 'document' }: TaskFile): string {
  return `${name.replace(/\.(png|jpe?g|txt|text|md|markdown)$/i, '')}.pdf`;
}
