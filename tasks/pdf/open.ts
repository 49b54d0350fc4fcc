import { TaskError } from '../../lib/task.ts';
import { characterMap } from './character-maps.ts';
import { refuseTooComplex } from './too-complex.ts';

export type Opened = {
  readonly document: Awaited<ReturnType<typeof import('unpdf').getDocumentProxy>>;
  /** What the document says of itself, as pdf.js gives it. */
  readonly info: Readonly<Record<string, unknown>>;
};

/** All that pdf.js asks for while it reads text. */
class Maps {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    if (kind !== 'cMapUrl') throw new Error(`no ${kind} in this version`);
    return characterMap(filename);
  }
}

/** Opens a PDF and takes `bytes` over; throws `TaskError` `encrypted_pdf`, `damaged_pdf` or `too_complex`. */
export async function open(bytes: Uint8Array): Promise<Opened> {
  const { getDocumentProxy } = await import('unpdf');
  try {
    const options = { verbosity: 0, cMapUrl: 'none/', standardFontDataUrl: 'none/', BinaryDataFactory: Maps };
    const document = await getDocumentProxy(bytes, options);
    const { info } = await document.getMetadata();
    return { document, info: { ...info } };
  } catch (error) {
    refuseTooComplex(error);
    if (error instanceof Error && error.name === 'PasswordException')
      throw new TaskError('encrypted_pdf', 'the document opens with a password only', { cause: error });
    throw new TaskError('damaged_pdf', 'the document is no PDF or is damaged beyond reading', { cause: error });
  }
}
