import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createDeflate, deflateSync } from 'node:zlib';

/** The whole document; object 1 is the catalog. */
export function pdfOf(objects: readonly (string | Buffer)[], trailer = ''): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const length = () => parts.reduce((sum, part) => sum + part.length, 0);
  const offsets = objects.map((object, index) => {
    const at = length();
    parts.push(Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n'));
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const xref = length();
  const size = objects.length + 1;
  const tail = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer<</Size ${size}/Root 1 0 R${trailer}>>\nstartxref\n${xref}\n%%EOF`;
  return Buffer.concat([...parts, Buffer.from(tail)]);
}

/** One page per content stream, each with Helvetica as F1. */
export function pagesOf(...contents: readonly (string | Buffer)[]): Buffer {
  const kids = contents.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  return pdfOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids}]/Count ${contents.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    ...contents.flatMap((content, index) => [page(5 + 2 * index), stream(content)]),
  ]);
}

/** Lines of text from the top of a page. */
export function lines(...text: readonly string[]): string {
  return `BT /F1 12 Tf 14 TL 72 720 Td ${text.map((line) => `(${line}) Tj T*`).join(' ')} ET`;
}

/** So many characters on one page, 100 a line, in two places by turns: what is beyond the page does not count as text. */
export function flood(characters: number): string {
  const line = (y: number) => `1 0 0 1 9 ${y} Tm (${'x'.repeat(100)}) Tj`;
  return `BT /F1 6 Tf ${`${line(700)} ${line(600)} `.repeat(Math.ceil(characters / 200))} ET`;
}

export function stream(data: string | Buffer, filter = ''): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([
    Buffer.from(`<</Length ${bytes.length}${filter}>>stream\n`),
    bytes,
    Buffer.from('\nendstream'),
  ]);
}

/** One page whose content is `megabytes` of `unit` again and again, packed twice: a few kilobytes. */
export async function bombOf(unit: string, megabytes: number): Promise<Buffer> {
  const megabyte = Buffer.alloc(1_000_000, unit);
  const once = await buffer(Readable.from(Array(megabytes).fill(megabyte)).pipe(createDeflate()));
  return pdfOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[4 0 R]/Count 1>>',
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    page(5),
    stream(deflateSync(once), '/Filter[/FlateDecode/FlateDecode]'),
  ]);
}

function page(content: number): string {
  return `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${content} 0 R/Resources<</Font<</F1 3 0 R>>>>>>`;
}
