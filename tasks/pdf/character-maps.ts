import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const folder = new URL('../../node_modules/pdfjs-dist/cmaps/', import.meta.url);

/**
 * One of Adobe's predefined character maps in pdf.js's binary form, such as `UniJIS-UCS2-H.bcmap`: what old Chinese, Japanese and Korean documents refer to
 * in place of embedding it. Rejects when there is no map of that name.
 */
export async function characterMap(name: string): Promise<Uint8Array> {
  if (!/^[A-Za-z0-9-]+\.bcmap$/.test(name)) throw new Error(`expected the name of a character map, got ${name}`);
  return new Uint8Array(await readFile(fileURLToPath(new URL(name, folder))));
}
