import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createDeflate } from 'node:zlib';
import { expect, test } from 'vitest';
import { jpeg, orientedJpeg, pngOf, pngPacked } from './build-image.ts';
import { lookInto, placed } from './look-into-pdf.ts';
import { makeHere, makePdf, readPdf } from './read-pdf.ts';

const density = (perMetre: number, unit = 1) =>
  Buffer.from([0, 0, ...[perMetre >> 8, perMetre & 255], 0, 0, perMetre >> 8, perMetre & 255, unit]);
/** Red and green above blue and white. */
const rows = Buffer.from([0, 255, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255]);
const small = { width: 2, height: 2 };

test('makes a page as large as the picture, 96 pixels to the inch when it says nothing', async () => {
  const { bytes, name } = await makePdf(pngOf(small, rows), 'image/png', { name: 'four.colours.PNG', title: 'Four' });
  expect(name).toBe('four.colours.pdf');
  const { info, pages } = await lookInto(bytes);
  expect(info).toMatchObject({ Title: 'Four', Creator: 'Weir' });
  // 1.5 points, made 3, which is the least that readers take.
  expect(pages).toMatchObject([{ width: 3, height: 3, pictures: [{ width: 2, height: 2, channels: 3 }] }]);
  expect([...(pages[0]?.pictures[0]?.data ?? [])]).toEqual([...rows].filter((_, index) => index % 7 !== 0));
  expect(await readPdf(bytes)).toMatchObject({ pageCount: 1, textFound: false });
});

test.each([
  ['JPEG without a density', jpeg(), 'image/jpeg', undefined, [45, 30]],
  ['JPEG on its side', orientedJpeg(6), 'image/jpeg', undefined, [30, 45]],
  ['JPEG on a page', jpeg(), 'image/jpeg', 'A4', [841.89, 595.28]],
  ['JPEG on its side on a page', orientedJpeg(8), 'image/jpeg', 'Letter', [612, 792]],
  [
    'PNG of 254 dpi',
    pngOf(
      { width: 254, height: 127, colour: 0, depth: 1, chunks: [['pHYs', density(10_000)]] },
      Buffer.alloc(127 * 33),
    ),
    'image/png',
    undefined,
    [72, 36],
  ],
  [
    'PNG of an unknown density',
    pngOf({ width: 96, height: 96, colour: 0, chunks: [['pHYs', density(10_000, 0)]] }, Buffer.alloc(96 * 97)),
    'image/png',
    undefined,
    [72, 72],
  ],
  [
    'PNG of one dot to the metre',
    pngOf({ width: 96, height: 96, colour: 0, chunks: [['pHYs', density(1)]] }, Buffer.alloc(96 * 97)),
    'image/png',
    undefined,
    [72, 72],
  ],
  [
    'PNG wider than a page may be',
    pngOf({ width: 30_000, height: 300, colour: 0, depth: 1 }, Buffer.alloc(300 * 3751)),
    'image/png',
    undefined,
    [14_400, 144],
  ],
] as const)('gives a %s its size', async (_, source, mediaType, pageSize, [width, height]) => {
  const bytes = await makeHere(source, mediaType, pageSize === undefined ? {} : { pageSize });
  const [page] = (await lookInto(bytes)).pages;
  expect(page?.width).toBeCloseTo(width, 1);
  expect(page?.height).toBeCloseTo(height, 1);
});

test.each([
  [1, 'upper left', 'upper right'],
  [2, 'upper right', 'upper left'],
  [3, 'lower right', 'lower left'],
  [4, 'lower left', 'lower right'],
  [5, 'upper left', 'lower left'],
  [6, 'upper right', 'lower right'],
  [7, 'lower right', 'upper right'],
  [8, 'lower left', 'upper left'],
])('stands a JPEG of orientation %i upright', async (orientation, red, green) => {
  const bytes = await makeHere(orientedJpeg(orientation), 'image/jpeg');
  const [page = { width: 0, height: 0, transforms: [] }] = (await lookInto(bytes)).pages;
  const corner = (x: number, y: number) => {
    const [left, up] = placed(page.transforms, x, y);
    return `${up > page.height / 2 ? 'upper' : 'lower'} ${left > page.width / 2 ? 'right' : 'left'}`;
  };
  // A picture fills the square from 0 to 1, its first row on top.
  expect([corner(0, 1), corner(1, 1)]).toEqual([red, green]);
});

const palette = Buffer.from([255, 0, 0, 0, 255, 0, 0, 0, 255]);
test.each([
  [
    'colours and transparency',
    { ...small, colour: 6 },
    [0, 9, 8, 7, 255, 0, 0, 0, 0, 0, 6, 5, 4, 128, 3, 2, 1, 255],
    [9, 8, 7, 255, 0, 0, 0, 0, 6, 5, 4, 128, 3, 2, 1, 255],
  ],
  [
    '16 bits',
    { ...small, colour: 4, depth: 16 },
    [0, 10, 0, 255, 0, 20, 0, 0, 0, 0, 30, 0, 9, 0, 40, 0, 255, 0],
    [10, 10, 10, 254, 20, 20, 20, 0, 30, 30, 30, 9, 40, 40, 40, 254],
  ],
  [
    'a palette with transparency, 2 bits a pixel',
    {
      ...small,
      colour: 3,
      depth: 2,
      chunks: [
        ['PLTE', palette],
        ['tRNS', Buffer.from([9])],
      ],
    },
    [0, 0b00010000, 0, 0b10000000],
    [255, 0, 0, 9, 0, 255, 0, 255, 0, 0, 255, 255, 255, 0, 0, 9],
  ],
  [
    'a palette, interlaced, 1 bit a pixel',
    { ...small, colour: 3, depth: 1, interlaced: true, chunks: [['PLTE', palette]] },
    [0, 0, 0, 0b10000000, 0, 0b10000000],
    [255, 0, 0, 0, 255, 0, 0, 255, 0, 255, 0, 0],
  ],
] as const)('keeps the colours and the transparency of a PNG with %s', async (_, form, unpacked, colours) => {
  const bytes = await makeHere(pngOf(form as never, Buffer.from(unpacked)), 'image/png');
  const [picture] = (await lookInto(bytes)).pages[0]?.pictures ?? [];
  // Three parts a pixel, or four with its transparency.
  expect([...(picture?.data ?? [])]).toEqual(colours);
});

const png = pngOf(small, rows);
const remarked = pngOf({ ...small, chunks: [['tEXt', Buffer.from('Comment\0remark')]] }, rows);
const changed = (bytes: Buffer, at: number, by: number) => Buffer.from(bytes).fill(by, at, at + 1);
test.each([
  ['nothing', new Uint8Array(), 'image/jpeg', 'damaged_image'],
  ['random bytes', randomBytes(5_000), 'image/png', 'damaged_image'],
  ['half a PNG', png.subarray(0, 50), 'image/png', 'damaged_image'],
  ['a PNG with a wrong bit in its pixels', changed(png, 45, 0x55), 'image/png', 'damaged_image'],
  [
    'a PNG with a wrong bit elsewhere',
    changed(remarked, remarked.indexOf('remark'), 0x55),
    'image/png',
    'damaged_image',
  ],
  ['a PNG with too few pixels', pngOf({ width: 2, height: 3 }, rows), 'image/png', 'damaged_image'],
  ['a PNG with too many pixels', pngOf({ width: 2, height: 1 }, rows), 'image/png', 'damaged_image'],
  ['a PNG whose pixels are not packed', pngPacked(small, rows), 'image/png', 'damaged_image'],
  ['a PNG without its palette', pngOf({ ...small, colour: 3 }, Buffer.alloc(6)), 'image/png', 'damaged_image'],
  ['a PNG of no width', pngOf({ width: 0, height: 2 }, Buffer.alloc(2)), 'image/png', 'damaged_image'],
  ['a PNG of an unknown kind', pngOf({ ...small, depth: 3 }, rows), 'image/png', 'damaged_image'],
  ['half a JPEG', jpeg().subarray(0, 500), 'image/jpeg', 'damaged_image'],
  ['the head of a JPEG', jpeg().subarray(0, 100), 'image/jpeg', 'damaged_image'],
  [
    'a JPEG of no width',
    changed(jpeg(), jpeg().indexOf(Buffer.from([0xff, 0xc0])) + 8, 0),
    'image/jpeg',
    'damaged_image',
  ],
  [
    'a JPEG with arithmetic codes',
    changed(jpeg(), jpeg().indexOf(Buffer.from([0xff, 0xc0])) + 1, 0xc9),
    'image/jpeg',
    'unsupported_image',
  ],
  [
    'a JPEG of 12 bits',
    changed(jpeg(), jpeg().indexOf(Buffer.from([0xff, 0xc0])) + 4, 12),
    'image/jpeg',
    'unsupported_image',
  ],
] as const)('fails for good on %s', async (_, bytes, mediaType, code) => {
  await expect(makeHere(bytes as Uint8Array, mediaType)).rejects.toMatchObject({
    name: 'TaskError',
    code,
    retryable: false,
  });
});

test.each([
  [
    'dimensions without end',
    pngPacked({ width: 2 ** 31 - 1, height: 2 ** 31 - 1 }, Buffer.alloc(10)),
    'image_too_large',
  ],
  [
    'more than 100 million pixels',
    pngPacked({ width: 10_001, height: 10_000, colour: 0, depth: 1 }, Buffer.alloc(10)),
    'image_too_large',
  ],
  [
    'more than 20 million pixels to unpack',
    pngPacked({ width: 5_001, height: 4_000, colour: 6 }, Buffer.alloc(10)),
    'image_too_large',
  ],
  [
    'more than 10 million pixels to unpack, 16 bits to a colour',
    pngPacked({ width: 2_501, height: 4_000, colour: 6, depth: 16 }, Buffer.alloc(10)),
    'image_too_large',
  ],
])('refuses a PNG of %s before it is unpacked', async (_, bytes, code) => {
  await expect(makePdf(bytes, 'image/png')).rejects.toMatchObject({ code });
});

test('stops at what a PNG unpacks to beyond its pixels', async () => {
  const packed = await buffer(Readable.from(Array(500).fill(Buffer.alloc(1_000_000))).pipe(createDeflate()));
  await expect(
    makePdf(pngPacked(small, Buffer.concat([packed.subarray(0, -9), randomBytes(9)])), 'image/png'),
  ).rejects.toMatchObject({
    code: 'damaged_image',
    message: 'the picture is damaged: it has more pixels than it says',
  });
});
