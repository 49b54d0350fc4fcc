import { expect, test } from 'vitest';
import pdf from '../../tasks/pdf.ts';
import { lookInto } from './look-into-pdf.ts';
import { convert, makeHere, makePdf, textsHere } from './read-pdf.ts';

const printed = async (text: string) => textsHere(await makeHere(text, 'text/plain'));

test.each([
  ['Latin', 'Zwölf große Boxkämpfer jagen Viktor quer über den Deich: fi ffl, naïve, Łódź'],
  ['Greek and Cyrillic', 'Ελληνικό κείμενο\nРусский текст'],
  ['Hebrew', 'שלום עולם זה משפט'],
  ['Arabic', 'مرحبا بالعالم هذه جملة'],
  ['Japanese', '日本語の文章です。「括弧」'],
  ['Chinese', '简体中文和繁體中文'],
  ['Korean', '한국어 문장입니다'],
  ['signs', '→ ≤ ∑ ☐ ☑ │ ├ ─ € “quoted” – … 😀'],
])('prints %s, and it is read back', async (_, text) => {
  expect(await printed(text)).toEqual([text.trim()]);
});

test('composes letters from their parts, ends lines one way and leaves out what nobody sees', async () => {
  expect(await printed('\ufeffe\u0301te\u0301\r\na\u200bb\u00adc\rd')).toEqual(['été\nabc\nd']);
});

test('shows what no font has as � and counts it', async () => {
  const { bytes } = await makePdf('ok ไทย न ok \u{1f9ff}', 'text/plain');
  expect(await textsHere(bytes)).toEqual(['ok ��� � ok �']);
  expect((await lookInto(bytes)).info).toMatchObject({ Custom: { ReplacedCharacters: '5' } });
});

test('embeds only the letters that are used', async () => {
  expect((await makeHere('short', 'text/plain')).length).toBeLessThan(20_000);
  expect((await makeHere('漢字と한글', 'text/plain')).length).toBeLessThan(60_000);
});

test('sets 80 letters to the line of an A4 page, breaks between words, and cuts what is longer than a line', async () => {
  const word = 'abcdefghi ';
  expect(await printed(word.repeat(17))).toEqual([[8, 8, 1].map((count) => word.repeat(count).trim()).join('\n')]);
  expect(await printed('x'.repeat(200))).toEqual([['x'.repeat(80), 'x'.repeat(80), 'x'.repeat(40)].join('\n')]);
  expect(await printed('字'.repeat(50))).toEqual([`${'字'.repeat(48)}\n字字`]);
});

test('turns the page when it is full, and at a form feed', async () => {
  const numbers = Array.from({ length: 120 }, (_, index) => `line ${index + 1}`);
  const pages = await printed(`${numbers.join('\n')}\fnext`);
  expect(pages.map((page) => page.split('\n').length)).toEqual([54, 54, 12, 1]);
  expect(pages.join('\n')).toBe([...numbers, 'next'].join('\n'));
  expect(await printed('')).toEqual(['']);
});

test('takes the page size and the title that are asked for', async () => {
  const { bytes, name } = await makePdf('x', 'text/plain', {
    pageSize: 'Letter',
    title: ' Über 文 ',
    name: 'notes.txt',
  });
  expect(await lookInto(bytes)).toMatchObject({ info: { Title: 'Über 文' }, pages: [{ width: 612, height: 792 }] });
  expect(name).toBe('notes.pdf');
  expect((await lookInto((await makePdf('x', 'text/plain')).bytes)).pages).toMatchObject([
    { width: 595.28, height: 841.89 },
  ]);
});

test('aligns a line of Hebrew to the right and keeps its words, numbers and English in order', async () => {
  const text = 'עוד מילה אחת English words בשנת 2026 (בסוגריים)';
  const read = (await printed(text))[0];
  // As in all PDFs, a bracket is what is seen: to the right of its words the one that opens them looks like the other.
  expect(read).toBe(text.replace('(בסוגריים)', ')בסוגריים('));
});

test('ends each line of Hebrew at the right margin', async () => {
  const bytes = await makeHere('מילה ארוכה  '.repeat(20), 'text/plain');
  const { texts = [], width = 0 } = (await lookInto(bytes)).pages[0] ?? {};
  const ends = texts.map(({ right }) => right).filter((right) => right > width - 70);
  expect(ends.length).toBeGreaterThan(2);
  for (const end of ends) expect(end).toBeCloseTo(width - 56, 0);
});

test.each([
  ['直', ['NotoSansHans-Regular']],
  ['直 か', ['NotoSansJP-Regular']],
  ['直 가', ['NotoSansKR-Regular']],
])('draws %s as its language does', async (text, fonts) => {
  const bytes = await makeHere(text, 'text/plain');
  const names =
    Buffer.from(bytes)
      .toString('latin1')
      .match(/\/FontName \/[A-Z]+\+(Noto\S+)/g) ?? [];
  expect(names.map((name) => name.replace(/.*\+/, ''))).toEqual(fonts);
});

test('reports progress page by page', async () => {
  const seen: string[] = [];
  const progress = (percent: number, message = '') => seen.push(`${Math.round(percent)} ${message}`);
  await makePdf(`${'1\n'.repeat(108)}3`, 'text/plain', { watch: { progress } });
  expect(seen).toEqual(['0 page 1', '50 page 2', '99 page 3']);
});

test.each([
  ['no UTF-8', Buffer.from('caf\xe9', 'latin1'), 'not_utf8'],
  ['UTF-16', Buffer.from('\ufeffcafé', 'utf16le'), 'not_utf8'],
  ['more than two million bytes', Buffer.alloc(2_000_001, 'a'), 'text_too_large'],
  ['more than 5,000 pages', '\f'.repeat(5_000), 'too_many_pages'],
])('fails for good on a text of %s', async (_, text, code) => {
  await expect(makePdf(text, 'text/plain')).rejects.toMatchObject({ name: 'TaskError', code, retryable: false });
});

test.each([
  ['text', 'image/png'],
  ['text', 'text/plain'],
  ['pdf', 'application/pdf'],
])('cannot convert to %s from %s', async (to, mediaType) => {
  await expect(convert(new Uint8Array(), { to }, { mediaType })).rejects.toMatchObject({
    code: 'unsupported_conversion',
    message: expect.stringMatching(`^${mediaType} cannot be converted to ${to}, which takes `),
  });
});

test.each([
  [{ to: 'docx' }, 'to'],
  [{ to: 'pdf', pages: '1' }, ''],
  [{ to: 'text', title: 'x' }, ''],
  [{ to: 'pdf', title: ' ' }, 'title'],
  [{ to: 'pdf', title: 'x'.repeat(301) }, 'title'],
  [{ to: 'pdf', pageSize: 'A3' }, 'pageSize'],
])('refuses %j before there is a task', (input, path) => {
  expect(pdf.input.safeParse(input).error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
});
