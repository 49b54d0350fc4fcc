import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { bombOf, flood, lines, pagesOf, pdfOf, stream } from './build-pdf.ts';
import { fixture, readPdf } from './read-pdf.ts';

const good = pagesOf(lines('first'), lines('second'));
const replaced = (find: string, by: string) => Buffer.from(good.toString('latin1').replace(find, by), 'latin1');

test.each<[string, Uint8Array, string]>([
  ['nothing', new Uint8Array(), 'damaged_pdf'],
  ['random bytes', randomBytes(20_000), 'damaged_pdf'],
  ['a text file', Buffer.from('Dear Sir or Madam,\n'.repeat(50)), 'damaged_pdf'],
  ['a header and no more', Buffer.from('%PDF-1.7\n'), 'damaged_pdf'],
  ['the first half', good.subarray(0, good.length / 2), 'damaged_pdf'],
  [
    'a page tree that holds itself',
    pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R]/Count 1>>']),
    'damaged_pdf',
  ],
  ['no pages', pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>']), 'no_pages'],
  ['a password', fixture('qpdf-user-password'), 'encrypted_pdf'],
])('fails for good on %s', async (_, bytes, code) => {
  await expect(readPdf(bytes)).rejects.toMatchObject({ name: 'TaskError', code, retryable: false });
});

test.each<[string, Uint8Array]>([
  ['a wrong place of its table', replaced('startxref\n', 'startxref\n9')],
  ['wrong places in its table', replaced('%PDF-1.7\n', '%PDF-1.7\n% moves all that follows\n')],
  ['something before its header', Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), good])],
  ['a wrong number of pages', replaced('/Count 2', '/Count 2000000000')],
])('recovers a document with %s', async (_, bytes) => {
  expect(await readPdf(bytes)).toMatchObject({ pageCount: 2, pages: [{ text: 'first' }, { text: 'second' }] });
});

test('marks a page that cannot be read, and reads the others', async () => {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[4 0 R 2 0 R]/Count 2>>',
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>>>>>',
    stream(lines('whole')),
  ];
  expect(await readPdf(pdfOf(objects))).toMatchObject({
    incomplete: true,
    pages: [
      { page: 1, text: 'whole' },
      { page: 2, text: '', damaged: true },
    ],
  });
});

test.each([
  ['spaces, which are skipped without a pause', ' '],
  ['operators without text', 'q Q '],
  ['text without end', 'BT /F1 9 Tf 9 9 Td (flood) Tj ET\n'],
  ['an array that never ends', '['],
])('ends as too complex on a page of 800 MB of %s, in bounded memory and with the event loop free', async (_, unit) => {
  const bomb = await bombOf(unit, 800);
  expect(bomb.length).toBeLessThan(30_000);
  const before = process.memoryUsage.rss();
  const seen = watchProcess();
  await expect(readPdf(bomb)).rejects.toMatchObject({ code: 'too_complex', retryable: false });
  const { peakBytes, longestBlockMs } = seen.stop();
  expect(peakBytes - before).toBeLessThan(1_300_000_000);
  expect(longestBlockMs).toBeLessThan(1_500);
});

test('stops reading a page that shows its text a billion times, because no page is that long', async () => {
  const form = (next: number, content: string) =>
    stream(
      content,
      `/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</N ${next} 0 R>>/Font<</F1 3 0 R>>>>`,
    );
  const nested = Array.from({ length: 9 }, (_, level) => form(7 + level, '/N Do '.repeat(10)));
  const pages = pdfOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[4 0 R]/Count 1>>',
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Resources<</XObject<</N 6 0 R>>>>>>',
    stream('/N Do'),
    ...nested,
    form(3, flood(2_000)),
  ]);
  await expect(readPdf(pages)).rejects.toMatchObject({
    code: 'too_complex',
    message: expect.stringContaining('a page has more than 1000000 characters'),
  });
});

test('stops in the middle of a page when it is told to', async () => {
  const bomb = await bombOf(' ', 800);
  const seen = watchProcess();
  const signal = AbortSignal.timeout(500);
  await expect(readPdf(bomb, { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(seen.stop().longestBlockMs).toBeLessThan(1_500);
});

/** Peak of the process's memory and the longest time in which nothing else could run. */
function watchProcess() {
  let [peakBytes, longestBlockMs, last] = [0, 0, performance.now()];
  const look = () => {
    const now = performance.now();
    longestBlockMs = Math.max(longestBlockMs, now - last);
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
    last = now;
  };
  const timer = setInterval(look, 10);
  return {
    stop() {
      clearInterval(timer);
      look();
      return { peakBytes, longestBlockMs };
    },
  };
}
