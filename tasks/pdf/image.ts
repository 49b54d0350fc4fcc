import type { ImageFacts } from './image-facts.ts';
import type { Wish } from './job.ts';
import { checkJpeg } from './jpeg.ts';
import { openWriter, pageSizes, type Size } from './paper.ts';
import { checkPng } from './png.ts';
import type { Printed } from './print.ts';
import { unpacked } from './unpacked.ts';

/** Of a picture that says nothing of it, or nothing likely. */
const usualDpi = 96;
const likelyDpi = { least: 30, most: 2_400 };
/** The longest and shortest side of a page that every reader takes: 200 inches, 3 points. */
const longestPoints = 14_400;
const shortestPoints = 3;
/** Around a picture on a page of a given size: half an inch. */
const marginPoints = 36;
const pngStart = 0x89;

/**
 * One page with the picture, upright as its EXIF orientation says. The page is as large as the picture at its own density, 96 pixels to the inch when it says
 * none (960 × 480 pixels are 720 × 360 points); with a `pageSize` it is that, lying when the picture is wider than high, and the picture fills it up to a
 * margin. Throws `TaskError` `damaged_image`, `unsupported_image` or `image_too_large`.
 */
export async function imageToPdf(bytes: Uint8Array, { title, pageSize }: Wish): Promise<Printed> {
  const { pdf, end } = openWriter(title);
  const [facts, image] = await openImage(pdf, bytes);
  const onItsSide = (image.orientation ?? 1) > 4;
  const [width, height] = onItsSide ? [facts.height, facts.width] : [facts.width, facts.height];
  const [page, margin] =
    pageSize === undefined
      ? [sizeOf(width, height, facts), 0]
      : [paper(pageSizes[pageSize], width > height), marginPoints];
  pdf.addPage({ size: [...page], margin: 0 });
  const fit: [number, number] = [page[0] - 2 * margin, page[1] - 2 * margin];
  pdf.image(image, margin, margin, { fit, align: 'center', valign: 'center' });
  return { bytes: await end(), pageCount: 1, replacedCharacters: 0 };
}

function sizeOf(width: number, height: number, { dpi }: ImageFacts): Size {
  const density = dpi !== undefined && dpi >= likelyDpi.least && dpi <= likelyDpi.most ? dpi : usualDpi;
  const [short, long] = [(Math.min(width, height) / density) * 72, (Math.max(width, height) / density) * 72];
  const scale = Math.min(Math.max(1, shortestPoints / short), longestPoints / long);
  return [(width / density) * 72 * scale, (height / density) * 72 * scale];
}

function paper([short, long]: Size, lying: boolean): Size {
  return lying ? [long, short] : [short, long];
}

type Image = PDFKit.Mixins.ImageSrc & { readonly orientation?: number };

async function openImage(pdf: PDFKit.PDFDocument, bytes: Uint8Array): Promise<[ImageFacts, Image]> {
  // The types do not know that pdfkit opens a picture without drawing it.
  const opener = pdf as unknown as { openImage(source: Uint8Array): Image };
  if (bytes[0] !== pngStart) return [checkJpeg(bytes), opener.openImage(bytes)];
  const { unpack, ...facts } = await checkPng(bytes);
  return [facts, unpack ? (unpacked(bytes) as unknown as Image) : opener.openImage(bytes)];
}
