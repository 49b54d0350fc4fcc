import { TaskError } from '../../lib/task.ts';
import { damagedImage, type ImageFacts, refuseTooManyPixels } from './image-facts.ts';

type Segment = { readonly marker: number; readonly at: number; readonly data: Buffer };

const startOfScan = 0xda;
const endOfImage = Buffer.from([0xff, 0xd9]);
/** Baseline, extended and progressive frames with Huffman codes: what PDF takes. */
const frames = [0xc0, 0xc1, 0xc2];
/** The other frames: lossless, hierarchical, arithmetic codes. */
const otherFrames = [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];

/**
 * What a JPEG is, once it has a frame that PDF takes, a scan and an end. Its pixels are not unpacked: PDF holds a JPEG as it is. Throws `TaskError`
 * `damaged_image`, `unsupported_image` or `image_too_large`.
 */
export function checkJpeg(bytes: Uint8Array): ImageFacts {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const segments = segmentsOf(file);
  const scan = segments.find(({ marker }) => marker === startOfScan);
  const frame = segments.find(({ marker }) => frames.includes(marker) || otherFrames.includes(marker));
  if (scan === undefined || frame === undefined || frame.data.length < 6) throw damagedImage('it has no pixels');
  if (file.lastIndexOf(endOfImage) < scan.at) throw damagedImage('it ends too early');
  const [bits, height, width] = [frame.data[0], frame.data.readUInt16BE(1), frame.data.readUInt16BE(3)];
  const components = frame.data[5] ?? 0;
  if (!frames.includes(frame.marker) || bits !== 8 || ![1, 3, 4].includes(components) || height === 0) {
    const message = `the picture is a JPEG of a kind that PDF does not take: frame ${frame.marker.toString(16)}, ${bits} bits, ${components} colours`;
    throw new TaskError('unsupported_image', message);
  }
  if (width === 0) throw damagedImage('its header makes no sense');
  refuseTooManyPixels({ width, height });
  return { width, height, dpi: densityOf(segments) };
}

/** All up to the first scan; what follows is pixels. */
function segmentsOf(file: Buffer): Segment[] {
  if (file.length < 4 || file.readUInt16BE(0) !== 0xffd8) throw damagedImage('it is no JPEG');
  const segments: Segment[] = [];
  let at = 2;
  while (segments.at(-1)?.marker !== startOfScan) {
    if (file[at] !== 0xff) throw damagedImage('it ends too early, or a part of it has a wrong length');
    while (file[at + 1] === 0xff) at++;
    const marker = file[at + 1] ?? 0;
    const length = at + 4 <= file.length ? file.readUInt16BE(at + 2) : 0;
    if (length < 2 || at + 2 + length > file.length) throw damagedImage('it ends too early');
    segments.push({ marker, at, data: file.subarray(at + 4, at + 2 + length) });
    at += 2 + length;
  }
  return segments;
}

/** Pixels to the inch, when a JFIF header says it, alike in both directions. */
function densityOf(segments: readonly Segment[]): number | undefined {
  const jfif = segments.find(({ marker, data }) => marker === 0xe0 && data.toString('latin1', 0, 5) === 'JFIF\0')?.data;
  if (jfif === undefined || jfif.length < 12 || jfif.readUInt16BE(8) !== jfif.readUInt16BE(10)) return undefined;
  const [unit, density] = [jfif[7], jfif.readUInt16BE(8)];
  if (unit === 1) return density;
  return unit === 2 ? density * 2.54 : undefined;
}
