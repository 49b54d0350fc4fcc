import { deflateSync } from 'node:zlib';
import { PNG } from 'pngjs';

/** A picture that pdfkit draws as it draws its own: `embed` writes it into the document when it is first drawn, and sets `obj`. */
export type Unpacked = {
  readonly width: number;
  readonly height: number;
  readonly label: string;
  obj: PDFKit.PDFKitReference | undefined;
  embed(pdf: PDFKit.PDFDocument): void;
};

/**
 * A PNG that is transparent or interlaced: its colours, 8 bits each, and apart from them how much is seen of each pixel. pdfkit's own way with these loses
 * colours when a pixel has fewer than 8 bits. Takes some 12 bytes of memory a pixel.
 */
export function unpacked(bytes: Uint8Array): Unpacked {
  const { width, height, data } = PNG.sync.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const colours = new Uint8Array(width * height * 3);
  const seen = new Uint8Array(width * height);
  for (let from = 0, to = 0, pixel = 0; pixel < seen.length; from += 4, to += 3, pixel++) {
    colours[to] = data[from] ?? 0;
    colours[to + 1] = data[from + 1] ?? 0;
    colours[to + 2] = data[from + 2] ?? 0;
    seen[pixel] = data[from + 3] ?? 0;
  }
  const image = (pdf: PDFKit.PDFDocument, pixels: Uint8Array, entries: object) => {
    const kind = { Type: 'XObject', Subtype: 'Image', BitsPerComponent: 8, Filter: 'FlateDecode' };
    const reference = pdf.ref({ ...kind, Width: width, Height: height, ...entries });
    reference.end(deflateSync(pixels));
    return reference;
  };
  return {
    width,
    height,
    label: 'I1',
    obj: undefined,
    embed(pdf) {
      const opaque = seen.every((value) => value === 255);
      const mask = opaque ? {} : { SMask: image(pdf, seen, { ColorSpace: 'DeviceGray' }) };
      this.obj = image(pdf, colours, { ColorSpace: 'DeviceRGB', ...mask });
    },
  };
}
