import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ResultFile, type TaskContext, type TaskFile } from '../../lib/task.ts';
import { type Order, perform, type Wish } from '../../tasks/pdf/job.ts';
import type { PdfText } from '../../tasks/pdf/pages.ts';
import pdf from '../../tasks/pdf.ts';

type Watch = Partial<Pick<TaskContext, 'signal' | 'progress'>>;
type Source = { readonly mediaType: string; readonly name?: string | undefined };

/** Runs the task on these bytes as an attempt does: input through its schema, one file, a context. */
export async function convert(
  bytes: Uint8Array,
  input: object,
  { mediaType, name }: Source,
  { signal = new AbortController().signal, progress = () => undefined }: Watch = {},
): Promise<unknown> {
  const document = { name, mediaType, size: bytes.length, sha256: '', bytes: async () => bytes } as unknown as TaskFile;
  const ctx = { taskId: 'test', attempt: 1, signal, progress, log: () => undefined } as unknown as TaskContext;
  return await pdf.run({ input: pdf.input.parse(input), files: { document }, ctx });
}

/** PDF to text. */
export async function readPdf(
  bytes: Uint8Array,
  { pages, ...watch }: { pages?: string | undefined } & Watch = {},
): Promise<PdfText> {
  const input = { to: 'text', ...(pages === undefined ? {} : { pages }) };
  return (await convert(bytes, input, { mediaType: 'application/pdf' }, watch)) as PdfText;
}

/** What becomes a PDF, and the PDF. */
export async function makePdf(
  source: Uint8Array | string,
  mediaType: 'image/png' | 'image/jpeg' | 'text/plain' | 'text/markdown',
  { name, watch, ...wish }: { title?: string; pageSize?: 'A4' | 'Letter'; name?: string; watch?: Watch } = {},
): Promise<{ bytes: Uint8Array; name: string | undefined }> {
  const made = await convert(Buffer.from(source), { to: 'pdf', ...wish }, { mediaType, name }, watch);
  if (!(made instanceof ResultFile) || made.source.bytes === undefined) throw new Error('expected a file');
  if (made.source.mediaType !== 'application/pdf') throw new Error('expected a PDF');
  return { bytes: made.source.bytes, name: made.source.name };
}

/** The same without a thread, which takes most of the time: for what the thread has no part in. */
export async function makeHere(
  source: Uint8Array | string,
  mediaType: 'image/png' | 'image/jpeg' | 'text/plain' | 'text/markdown',
  { title, pageSize }: Partial<Wish> = {},
): Promise<Uint8Array> {
  const [bytes, wish] = [new Uint8Array(Buffer.from(source)), { title, pageSize }];
  const form = mediaType === 'text/markdown' ? 'markdown' : 'plain';
  const order: Order = mediaType.startsWith('image/')
    ? { kind: 'frame', bytes, wish }
    : { kind: 'print', bytes, form, wish };
  const made = await perform(order, () => undefined);
  if (made.kind !== 'pdf') throw new Error('expected a PDF');
  return made.bytes;
}

/** The text of each page, read without a thread. */
export async function textsHere(bytes: Uint8Array): Promise<string[]> {
  const made = await perform({ kind: 'read', bytes: new Uint8Array(bytes), ranges: [{ first: 1 }] }, () => undefined);
  if (made.kind !== 'text') throw new Error('expected text');
  return textsOf(made.text);
}

/** The text of each page. */
export function textsOf({ pages }: PdfText): string[] {
  return pages.map(({ text }) => text);
}

export function fixture(name: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`fixtures/${name}.pdf`, import.meta.url)));
}
