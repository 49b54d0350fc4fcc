import { expect, test } from 'vitest';
import { flood, lines, pagesOf, pdfOf } from './build-pdf.ts';
import { fixture, readPdf } from './read-pdf.ts';

const texts = ({ pages }: Awaited<ReturnType<typeof readPdf>>) => pages.map(({ text }) => text);

test('gives each page its text, lines as lines, and what the document says of itself', async () => {
  expect(await readPdf(pagesOf(lines('First line', 'second line'), lines('Next page')))).toEqual({
    pageCount: 2,
    textFound: true,
    pages: [
      { page: 1, text: 'First line\nsecond line' },
      { page: 2, text: 'Next page' },
    ],
  });
  expect((await readPdf(fixture('chromium'))).info).toMatchObject({ title: 'Tides', producer: 'Skia/PDF m156' });
});

test('leaves out of the info what is empty, too long or a control character', async () => {
  const info = `/Info<</Title<FEFF0041000000070042>/Author( )/Subject(${'x'.repeat(400)})/Custom(no)>>`;
  const page = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>';
  const read = await readPdf(
    pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[3 0 R]/Count 1>>', page], info),
  );
  expect(read.info).toEqual({ title: 'AB', subject: 'x'.repeat(300) });
});

test('reads columns one after the other when they are drawn so', async () => {
  const columns =
    'BT /F1 9 Tf 11 TL 72 700 Td (left one) Tj T* (left two) Tj 1 0 0 1 320 700 Tm (right one) Tj T* (right two) Tj ET';
  expect(texts(await readPdf(pagesOf(columns)))).toEqual(['left one\nleft two\nright one\nright two']);
});

test.each([
  ['libreoffice-cjk', '日本語の文章です\n中文 한국어'],
  ['chromium', 'שלום עולם זה משפט\nمرحبا بالعالم هذه جملة'],
  ['libreoffice-hebrew', 'שלום עולם זה משפט'],
  ['reportlab-form', 'Name of applicant:\nTicked\nDiagonal watermark words\nVertical axis label words\nFilled Value'],
])('reads what %s wrote', async (name, text) => {
  expect(texts(await readPdf(fixture(name)))).toEqual([text]);
});

test('reads object streams, and what is encrypted for its owner only', async () => {
  const plain = texts(await readPdf(fixture('groff-qpdf')));
  expect(plain[0]).toMatch(/^Office fluff\nAnn Author\nAn efficient office: the quick brown/);
  expect(texts(await readPdf(fixture('qpdf-owner-password')))).toEqual(plain);
});

test('says that no text was found on pages without any', async () => {
  const scan = await readPdf(pagesOf('0 0 m 9 9 l S', ''));
  expect(scan).toMatchObject({ pageCount: 2, textFound: false });
  expect(texts(scan)).toEqual(['', '']);
});

test('says that text is missing when a font needs a character map that is not there', async () => {
  const read = await readPdf(fixture('reportlab-no-maps'));
  expect(read).toMatchObject({ textFound: true, incomplete: true });
  expect(texts(read)).toEqual(['Latin line beside']);
});

test('reports progress page by page', async () => {
  const reports: unknown[] = [];
  await readPdf(pagesOf('', '', '', ''), { firstPage: 2, progress: (...report) => reports.push(report) });
  expect(reports).toEqual([
    [100 / 3, 'page 2 of 4'],
    [200 / 3, 'page 3 of 4'],
    [100, 'page 4 of 4'],
  ]);
});

test('reads the pages that are asked for, and no more than there are', async () => {
  const three = pagesOf(lines('one'), lines('two'), lines('three'));
  expect(await readPdf(three, { firstPage: 2, lastPage: 2 })).toMatchObject({
    pageCount: 3,
    pages: [{ page: 2, text: 'two' }],
  });
  expect(texts(await readPdf(three, { firstPage: 3, lastPage: 99 }))).toEqual(['three']);
  await expect(readPdf(three, { firstPage: 4 })).rejects.toMatchObject({ code: 'no_such_page' });
  await expect(readPdf(three, { firstPage: 3, lastPage: 2 })).rejects.toThrow('must not be before firstPage');
});

test('stops at the page that no longer fits into a result, and says which pages do', async () => {
  const page = flood(120_000);
  await expect(readPdf(pagesOf(page, page, page, page))).rejects.toMatchObject({
    code: 'result_too_large',
    message: expect.stringContaining('up to page 2 of 4 fits'),
  });
  await expect(readPdf(pagesOf('', flood(400_000)), { firstPage: 2 })).rejects.toMatchObject({
    code: 'result_too_large',
    message: expect.stringContaining('page 2 alone'),
  });
});

test('stops between two pages when it is told to', async () => {
  const stop = new AbortController();
  const reason = new Error('told to');
  const seen: string[] = [];
  const progress = (_: number, message = '') => {
    seen.push(message);
    stop.abort(reason);
  };
  const many = pagesOf(...Array.from({ length: 3_000 }, () => lines('page')));
  await expect(readPdf(many, { signal: stop.signal, progress })).rejects.toBe(reason);
  const heard = seen.length;
  expect(heard).toBeLessThan(2_000);
  await new Promise(setImmediate);
  expect(seen.length).toBe(heard);
  await expect(readPdf(many, { signal: stop.signal })).rejects.toBe(reason);
});
