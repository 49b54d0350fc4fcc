import { expect, test } from 'vitest';
import { maxResultBytes } from '../../lib/task.ts';
import pdf from '../../tasks/pdf.ts';
import { flood, lines, pagesOf, pdfOf } from './build-pdf.ts';
import { fixture, readPdf, textsOf as texts } from './read-pdf.ts';

test('gives each page its text, lines as lines, and what the document says of itself', async () => {
  expect(await readPdf(pagesOf(lines('First line', 'second line'), lines('Next page')))).toEqual({
    pageCount: 2,
    encrypted: false,
    textFound: true,
    info: { version: '1.7' },
    pages: [
      { page: 1, text: 'First line\nsecond line' },
      { page: 2, text: 'Next page' },
    ],
  });
  expect((await readPdf(fixture('chromium'))).info).toEqual({
    title: 'Tides',
    creator: expect.stringContaining('HeadlessChrome/156.0.0.0'),
    producer: 'Skia/PDF m156',
    created: '2026-11-29T20:53:33.000Z',
    modified: '2026-11-29T20:53:33.000Z',
    version: '1.4',
  });
});

test('leaves out of the info what is empty, too long or a control character', async () => {
  const info = `/Info<</Title<FEFF0041000000070042>/Author( )/Subject(${'x'.repeat(400)})/Custom(no)>>`;
  const page = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>';
  const read = await readPdf(
    pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[3 0 R]/Count 1>>', page], info),
  );
  expect(read.info).toEqual({ title: 'AB', subject: 'x'.repeat(300), version: '1.7' });
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
  const plain = await readPdf(fixture('groff-qpdf'));
  expect(plain.encrypted).toBe(false);
  expect(texts(plain)[0]).toMatch(/^Office fluff\nAnn Author\nAn efficient office: the quick brown/);
  const encrypted = await readPdf(fixture('qpdf-owner-password'));
  expect(encrypted.encrypted).toBe(true);
  expect(texts(encrypted)).toEqual(texts(plain));
});

test('says that no text was found on pages without any', async () => {
  const scan = await readPdf(pagesOf('0 0 m 9 9 l S', ''));
  expect(scan).toMatchObject({ pageCount: 2, textFound: false });
  expect(texts(scan)).toEqual(['', '']);
});

test('reads fonts that name a character map in place of embedding it', async () => {
  const read = await readPdf(fixture('reportlab-no-maps'));
  expect(read).not.toHaveProperty('incomplete');
  expect(texts(read)[0]).toContain('日本語の文章です。吾輩は猫である。\n简体中文测试天空\n');
  expect(texts(read)[0]).toContain('한국어 문장입니다\nLatin line beside');
});

test('reports progress page by page', async () => {
  const reports: unknown[] = [];
  await readPdf(pagesOf('', '', '', ''), { pages: '2-', progress: (...report) => reports.push(report) });
  expect(reports).toEqual([
    [100 / 3, 'page 2 of 4'],
    [200 / 3, 'page 3 of 4'],
    [100, 'page 4 of 4'],
  ]);
});

test('reads the pages that are asked for, in their order, each once', async () => {
  const five = pagesOf(...['one', 'two', 'three', 'four', 'five'].map((text) => lines(text)));
  expect(await readPdf(five, { pages: '2' })).toMatchObject({ pageCount: 5, pages: [{ page: 2, text: 'two' }] });
  expect(texts(await readPdf(five, { pages: '4-, 1-2,2-2' }))).toEqual(['one', 'two', 'four', 'five']);
});

test.each(['6', '6-', '2-6', '1,1000000'])('fails on pages %s of five', async (pages) => {
  const five = pagesOf('', '', '', '', '');
  await expect(readPdf(five, { pages })).rejects.toMatchObject({
    code: 'no_such_page',
    message: expect.stringMatching(/^the document ends with page 5, page (6|1000000) was asked for$/),
  });
});

test.each([
  ['', 'expected page numbers and ranges such as 1-3,7 or 5-, got ""'],
  ['one', 'expected page numbers and ranges such as 1-3,7 or 5-, got "one"'],
  ['1-3;7', 'expected page numbers and ranges such as 1-3,7 or 5-, got "1-3;7"'],
  ['-3', 'expected page numbers and ranges such as 1-3,7 or 5-, got "-3"'],
  ['1,,2', 'expected page numbers and ranges such as 1-3,7 or 5-, got ""'],
  ['0', 'expected pages from 1'],
  ['5-3', 'expected a range that ascends, got 5-3'],
  ['1-1000001', 'expected pages up to 1000000'],
  [`${'1,'.repeat(200)}1`, 'Too big: expected string to have <=400 characters'],
])('refuses pages %.20s before there is a task', (pages, message) => {
  const { error } = pdf.input.safeParse({ to: 'text', pages });
  expect(error?.issues).toMatchObject([{ path: ['pages'], message }]);
});

test('refuses more pages than are read at once', async () => {
  const count = 100_001;
  const tree = pdfOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${'3 0 R '.repeat(count)}]/Count ${count}>>`,
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>',
  ]);
  await expect(readPdf(tree)).rejects.toMatchObject({ code: 'too_many_pages' });
  expect(await readPdf(tree, { pages: '100001' })).toMatchObject({ pageCount: count, textFound: false });
});

test('reads a page of any size', async () => {
  const huge = pagesOf(lines('far')).toString('latin1').replace('[0 0 612 792]', '[0 0 9e9 9e9]');
  expect(texts(await readPdf(Buffer.from(huge, 'latin1')))).toEqual(['far']);
});

test('stops at the page that no longer fits into a result, and says how to ask for the rest', async () => {
  const page = flood(950_000);
  await expect(readPdf(pagesOf(...Array(11).fill(page)))).rejects.toMatchObject({
    code: 'result_too_large',
    message: `the text before page 11 fits into the ${maxResultBytes} bytes of a result; ask for the rest with pages: "11-"`,
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
