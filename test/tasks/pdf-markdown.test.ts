import { expect, test } from 'vitest';
import { lookInto } from './look-into-pdf.ts';
import { makeHere, makePdf, textsHere } from './read-pdf.ts';

const printed = async (text: string) => (await textsHere(await makeHere(text, 'text/markdown'))).join('\f');

test.each([
  [
    'headings and paragraphs',
    '# One\ntext\nof a  \nparagraph\n\nTwo\n---\nmore',
    'One\ntext of a\nparagraph\nTwo\nmore',
  ],
  ['emphasis', 'a **bold *both*** _it_ ~~gone~~ `a b` \\*', 'a bold both it gone a b *'],
  ['entities', '&copy; &#8364; &#x41; &lt;b&gt; &nonsense; &#0; `&copy;`', '© € A <b> &nonsense; � &copy;'],
  [
    'links and pictures',
    '[the *text*](https://weir.test/) <https://weir.test/2> ![what it shows](x.png)',
    'the text https://weir.test/2 what it shows',
  ],
  [
    'lists',
    '- one\n- two\n  1. first\n  2. second\n\n7. seven\n8. eight',
    '• one\n• two\n1. first\n2. second\n7. seven\n8. eight',
  ],
  ['tasks', '- [ ] open\n- [x] done', '☐ open\n☑ done'],
  ['an empty item', '- one\n-\n- three', '• one\n•\n• three'],
  ['quotations', '> said\n> > before', 'said\nbefore'],
  ['code', '```ts\nif (x)\n\treturn;\n\ndone\n```\n\n    indented', 'if (x)\nreturn;\ndone\nindented'],
  ['tables', '| a | b |\n|---|---|\n| 1 | **2** |', 'a | b\n1 | 2'],
  ['rules', 'above\n\n***\n\nbelow', 'above\nbelow'],
  ['HTML, as it is written', 'a <b>bold</b>\n\n<div>\nblock\n</div>', 'a <b>bold</b>\n<div>\nblock\n</div>'],
  ['right to left', '# שלום\n\nمرحبا بالعالم', 'שלום\nمرحبا بالعالم'],
])('prints %s', async (_, markdown, text) => {
  expect(await printed(markdown)).toBe(text);
});

test('sets headings, emphasis and code in faces of their own', async () => {
  const bytes = await makeHere('# H\n\nr **b** *i* ***bi*** `m`', 'text/markdown');
  const names =
    Buffer.from(bytes)
      .toString('latin1')
      .match(/\/BaseFont \/[A-Z]+\+(\S+)/g) ?? [];
  const faces = new Set(names.map((name) => name.replace(/.*\+/, '')));
  expect([...faces].sort()).toEqual([
    'DejaVuSans',
    'DejaVuSans-Bold',
    'DejaVuSans-BoldOblique',
    'DejaVuSans-Oblique',
    'DejaVuSansMono',
  ]);
});

test('links lead to the web and nowhere else', async () => {
  const source = '[a](https://weir.test/x) [b](javascript:alert(1)) [c](file:///etc/passwd) [d](mailto:a@weir.test)';
  const bytes = await makeHere(source, 'text/markdown');
  const links = Buffer.from(bytes)
    .toString('latin1')
    .match(/\/URI \(([^)]*)\)/g);
  expect(links).toEqual(['/URI (https://weir.test/x)', '/URI (mailto:a@weir.test)']);
});

test('begins a page at its margin, and leaves space above a heading', async () => {
  const { pages } = await lookInto(await makeHere('# One\n\n# Two', 'text/markdown'));
  const bases = pages[0]?.texts.map(({ base }) => base) ?? [];
  const first = 841.89 - 56 - 22 * 1.02;
  expect(bases).toHaveLength(2);
  expect(bases[0]).toBeCloseTo(first, 1);
  expect(bases[1]).toBeCloseTo(first - 22 * 1.35 - 22, 1);
});

test('keeps a heading with what follows it', async () => {
  const bytes = await makeHere(`${'line\n\n'.repeat(34)}### Heading\n\ntext`, 'text/markdown');
  const pages = await textsHere(bytes);
  expect(pages).toHaveLength(2);
  expect(pages[1]).toBe('Heading\ntext');
});

test.each([
  ['quotations', '> '.repeat(20_000)],
  ['brackets', '[('.repeat(20_000)],
  ['lists', '- '.repeat(20_000)],
])('ends as made or as too complex on %s without end', async (_, text) => {
  const ended = makePdf(text, 'text/markdown').then(
    () => 'made',
    ({ code }) => code,
  );
  expect(await ended).toMatch(/^(made|too_complex)$/);
});

test('fetches no picture', async () => {
  const { pages } = await lookInto(await makeHere('![x](http://127.0.0.1:1/x.png)', 'text/markdown'));
  expect(pages).toMatchObject([{ pictures: [] }]);
});
