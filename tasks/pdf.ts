import * as z from 'zod';
import { defineTask } from '../lib/task.ts';

/** Reading a document must not take longer: a second try would not be faster. */
const maxReadMs = 100_000;
const maxFetchMs = 20_000;

/**
 * PDF to text, page by page:
 *
 *     { "pageCount": 2, "textFound": true, "info": { "title": "Tides", "producer": "cairo 1.16.0" },
 *       "pages": [{ "page": 1, "text": "First line\nsecond line" }, { "page": 2, "text": "" }] }
 *
 * Lines stay lines, in the order in which the document draws them: columns usually one after the other, a word split by a hyphen stays split. What is
 * filled into a form follows the page's text. `textFound` is false when no page of the answer has text: the pages are pictures, as a scanner makes them.
 * `"incomplete": true` says that text is missing, because a page has `"damaged": true` and cannot be read, or because a font needs a predefined character
 * map, as some old Chinese, Japanese and Korean documents do; those maps are not shipped. `info` has what the document says of itself, as far as it does:
 * title, author, subject, keywords, creator, producer, each cut to 300 characters. `firstPage` and `lastPage` choose a part, both included, since a
 * result holds about 100 pages of prose.
 *
 * Fails for good, with nothing to retry, as `encrypted_pdf` when it opens with a password only, `damaged_pdf` when it is no PDF or none of its pages can be
 * read, `no_pages`, `no_such_page` when it ends before `firstPage`, `result_too_large` at the first page that does not fit, and `too_complex` when reading
 * it takes too much memory or a page takes too long, as with a few kilobytes that unpack to gigabytes.
 */
export default defineTask({
  api: 'conversions/pdf',
  pool: 'conversions',
  input: z
    .strictObject({
      to: z.enum(['text']),
      firstPage: z.int().min(1).max(1_000_000).default(1),
      lastPage: z.int().min(1).max(1_000_000).optional(),
    })
    .refine(({ firstPage, lastPage = firstPage }) => firstPage <= lastPage, {
      path: ['lastPage'],
      error: 'must not be before firstPage',
    }),
  files: { document: { mediaTypes: ['application/pdf'], maxBytes: 50_000_000 } },
  timeoutMs: maxFetchMs + maxReadMs,
  async run({ input: { firstPage, lastPage }, files, ctx }) {
    const { readInThread } = await import('./pdf-thread.ts');
    const bytes = await files.document.bytes();
    return readInThread({ bytes, firstPage, lastPage }, maxReadMs, ctx);
  },
});
