import PDFDocument from 'pdfkit';

export type PageSize = 'A4' | 'Letter';

/** Width and height in points, 72 to the inch. */
export type Size = readonly [width: number, height: number];

export const pageSizes: Readonly<Record<PageSize, Size>> = { A4: [595.28, 841.89], Letter: [612, 792] };

/** A document that is being written. */
export type Writer = {
  readonly pdf: PDFKit.PDFDocument;
  /** The whole file, once. */
  end(): Promise<Uint8Array>;
};

/** A PDF without pages, with the title in its document information. */
export function openWriter(title: string | undefined): Writer {
  const pdf = new PDFDocument({
    autoFirstPage: false,
    // withMemory does it, with an end.
    fontLayoutCache: false,
    margin: 0,
    // Not Helvetica, which pdfkit would read from a file of its own: every letter is from an embedded font.
    font: null as never,
    displayTitle: title !== undefined,
    info: { Creator: 'Weir', ...(title === undefined ? {} : { Title: title }) },
  });
  const chunks: Buffer[] = [];
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    pdf.on('end', resolve);
    pdf.on('error', reject);
  });
  return {
    pdf,
    async end() {
      pdf.end();
      await ended;
      return new Uint8Array(Buffer.concat(chunks));
    },
  };
}
