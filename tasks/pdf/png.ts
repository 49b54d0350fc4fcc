import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflate } from 'node:zlib';
import { TaskError } from '../../lib/task.ts';
import { damagedImage, type ImageFacts, maxUnpackedPixels, refuseTooManyPixels } from './image-facts.ts';

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Samples of a pixel, by the colour type; which depths go with it. */
const colours: Readonly<Record<number, { samples: number; depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};
/** Where the seven passes of an interlaced picture start, and their steps: x, y, step in x, step in y. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

type Header = {
  width: number;
  height: number;
  depth: number;
  bitsPerPixel: number;
  colour: number;
  interlaced: boolean;
};
type Chunk = { readonly type: string; readonly data: Buffer };

/**
 * What a PNG is, once it is whole: every checksum is right and the pixels unpack to exactly what the header says. Unpacks as a stream and keeps nothing,
 * so a picture of any size costs no memory here. `unpack`: it is transparent or interlaced, which PDF has another form for. Throws `TaskError` `damaged_image` or `image_too_large`.
 */
export async function checkPng(bytes: Uint8Array): Promise<ImageFacts & { readonly unpack: boolean }> {
  const chunks = chunksOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const header = headerOf(chunks[0]);
  const transparent = [4, 6].includes(header.colour) || chunks.some(({ type }) => type === 'tRNS');
  const unpack = transparent || header.interlaced;
  refuseTooManyPixels(header);
  if (unpack) {
    const most = header.depth === 16 ? maxUnpackedPixels.deep : maxUnpackedPixels.usual;
    refuseTooManyPixels(header, most, ' of a transparent or interlaced PNG');
  }
  if (header.colour === 3 && !chunks.some(({ type }) => type === 'PLTE')) throw damagedImage('it has no palette');
  const pixels = chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data);
  await checkPixels(pixels, unpackedBytes(header));
  const { width, height } = header;
  return { width, height, dpi: densityOf(chunks), unpack };
}

function chunksOf(bytes: Buffer): Chunk[] {
  if (!bytes.subarray(0, 8).equals(signature)) throw damagedImage('it is no PNG');
  const chunks: Chunk[] = [];
  for (let at = 8; chunks.at(-1)?.type !== 'IEND'; ) {
    const length = at + 12 <= bytes.length ? bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (at + 12 + length > bytes.length) throw damagedImage('it ends too early');
    const checksum = bytes.readUInt32BE(at + 8 + length);
    if (crc32(bytes.subarray(at + 4, at + 8 + length)) !== checksum) throw damagedImage('a checksum is wrong');
    chunks.push({
      type: bytes.toString('latin1', at + 4, at + 8),
      data: bytes.subarray(at + 8, at + 8 + length),
    });
    at += 12 + length;
  }
  return chunks;
}

function headerOf(chunk: Chunk | undefined): Header {
  if (chunk?.type !== 'IHDR' || chunk.data.length !== 13) throw damagedImage('it has no header');
  const [width, height] = [chunk.data.readUInt32BE(0), chunk.data.readUInt32BE(4)];
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = chunk.data.subarray(8);
  const form = colours[colour];
  const known = form?.depths.includes(depth) && compression === 0 && filter === 0 && interlace <= 1;
  if (form === undefined || !known || width === 0 || height === 0) throw damagedImage('its header makes no sense');
  return { width, height, depth, bitsPerPixel: form.samples * depth, colour, interlaced: interlace === 1 };
}

/** Each row is a filter's number and its pixels. */
function unpackedBytes({ width, height, bitsPerPixel, interlaced }: Header): number {
  const bytesOf = (columns: number, rows: number) =>
    columns === 0 ? 0 : rows * (1 + Math.ceil((columns * bitsPerPixel) / 8));
  if (!interlaced) return bytesOf(width, height);
  return passes.reduce(
    (sum, [x, y, stepX, stepY]) =>
      sum + bytesOf(Math.max(0, Math.ceil((width - x) / stepX)), Math.max(0, Math.ceil((height - y) / stepY))),
    0,
  );
}

async function checkPixels(packed: readonly Buffer[], expected: number): Promise<void> {
  let unpacked = 0;
  try {
    await pipeline(Readable.from(packed), createInflate(), async (parts: AsyncIterable<Buffer>) => {
      for await (const part of parts) {
        unpacked += part.length;
        if (unpacked > expected) throw damagedImage('it has more pixels than it says');
      }
    });
  } catch (error) {
    throw error instanceof TaskError ? error : damagedImage('its pixels cannot be unpacked', error);
  }
  if (unpacked < expected) throw damagedImage('it has fewer pixels than it says');
}

/** Pixels to the inch, when the picture says it in metres and alike in both directions. */
function densityOf(chunks: readonly Chunk[]): number | undefined {
  const data = chunks.find(({ type }) => type === 'pHYs')?.data;
  if (data?.length !== 9 || data[8] !== 1 || data.readUInt32BE(0) !== data.readUInt32BE(4)) return undefined;
  return data.readUInt32BE(0) * 0.0254;
}
