import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';

type Form = {
  width: number;
  height: number;
  /** 0 grey, 2 colours, 3 a palette, 4 and 6 with transparency. */
  colour?: number;
  depth?: number;
  interlaced?: boolean;
  /** After the header. */
  chunks?: [type: string, data: Uint8Array][];
};

/** A PNG of these unpacked rows, each with its filter's number in front. */
export function pngOf(form: Form, rows: Uint8Array): Buffer {
  return pngPacked(form, deflateSync(rows));
}

/** The same, packed before. */
export function pngPacked(form: Form, packed: Uint8Array): Buffer {
  const { width, height, colour = 2, depth = 8, interlaced = false, chunks = [] } = form;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour, 0, 0, interlaced ? 1 : 0], 8);
  const all: [string, Uint8Array][] = [['IHDR', header], ...chunks, ['IDAT', packed], ['IEND', Buffer.alloc(0)]];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...all.map(([type, data]) => chunk(type, data))]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

/** 60 × 40 pixels: red, green, blue and white quarters. */
export function jpeg(): Buffer {
  return readFileSync(fileURLToPath(new URL('fixtures/four-colours.jpg', import.meta.url)));
}

/** The same, with an EXIF orientation from 1 to 8. */
export function orientedJpeg(orientation: number): Buffer {
  const tiff = Buffer.from([
    ...Buffer.from('MM\0*\0\0\0\x08\0\x01', 'latin1'),
    1,
    0x12,
    0,
    3,
    0,
    0,
    0,
    1,
    0,
    orientation,
    0,
    0,
  ]);
  const exif = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff, Buffer.alloc(4)]);
  const plain = jpeg();
  return Buffer.concat([plain.subarray(0, 2), Buffer.from([0xff, 0xe1, 0, exif.length + 2]), exif, plain.subarray(2)]);
}
