import { TaskError } from '../../lib/task.ts';

export type ImageFacts = {
  readonly width: number;
  readonly height: number;
  /** Pixels to the inch, as far as the picture says. */
  readonly dpi: number | undefined;
};

/** A picture that is put into the PDF as it came. What opens the PDF will need its pixels in memory. */
export const maxPixels = 100_000_000;
/** A picture that is unpacked here, at some 12 bytes a pixel, or 24 when it has 16 bits to a colour. */
export const maxUnpackedPixels = { usual: 20_000_000, deep: 10_000_000 };

export function damagedImage(why: string, cause?: unknown): TaskError {
  return new TaskError('damaged_image', `the picture is damaged: ${why}`, { cause });
}

/** Throws `TaskError` `image_too_large` for more than `most` pixels; `kind` says of which pictures. */
export function refuseTooManyPixels(
  { width, height }: { readonly width: number; readonly height: number },
  most = maxPixels,
  kind = '',
): void {
  if (width * height <= most) return;
  const message = `the picture has ${width} × ${height} pixels, at most ${most} are taken${kind}`;
  throw new TaskError('image_too_large', message);
}
