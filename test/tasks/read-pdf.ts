import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TaskContext } from '../../lib/task.ts';
import pdf from '../../tasks/pdf.ts';
import type { PdfText } from '../../tasks/pdf-pages.ts';

type Wish = { firstPage?: number; lastPage?: number } & Partial<Pick<TaskContext, 'signal' | 'progress'>>;

/** Runs the task on these bytes as an attempt does: input through its schema, one file, a context. */
export async function readPdf(bytes: Uint8Array, wish: Wish = {}): Promise<PdfText> {
  const { signal = new AbortController().signal, progress = () => undefined, ...range } = wish;
  const document = {
    name: 'document.pdf',
    mediaType: 'application/pdf',
    size: bytes.length,
    sha256: '',
    bytes: async () => bytes,
  };
  const ctx = { taskId: 'test', attempt: 1, signal, progress, log: () => undefined };
  return (await pdf.run({ input: pdf.input.parse({ to: 'text', ...range }), files: { document }, ctx })) as PdfText;
}

export function fixture(name: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`fixtures/${name}.pdf`, import.meta.url)));
}
