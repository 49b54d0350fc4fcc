import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../infra/bundle.ts';
import { jpeg, pngOf } from './build-image.ts';
import { bombOf } from './build-pdf.ts';
import { fixture, readPdf, textsOf } from './read-pdf.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-pdf-'));
beforeAll(() => bundle({ folder, entry: () => fileURLToPath(new URL('pdf-entry.ts', import.meta.url)) }));
afterAll(() => rmSync(folder, { recursive: true }));

test('reads, and refuses, from the bundle of the worker too, in a process that sees nothing of this project', async () => {
  expect(await runBundle(fixture('libreoffice-cjk'))).toMatchObject({
    pages: [{ text: '日本語の文章です\n中文 한국어' }],
  });
  expect(await runBundle(fixture('reportlab-no-maps'))).toMatchObject({
    pages: [{ text: expect.stringContaining('吾輩は猫である。') }],
  });
  expect(await runBundle(fixture('qpdf-user-password'))).toBe('encrypted_pdf');
  expect(await runBundle(await bombOf(' ', 800))).toBe('too_complex');
});

test('prints and frames from there, with its fonts', async () => {
  const text = 'Ünïcode, Ελληνικά, 日本語, 简体中文, 한국어\n\nעברית\n\nالعربية';
  expect(await printed(Buffer.from(`${text}\n\n**b** *i* \`m\``), 'text/markdown')).toEqual([
    `${text.replaceAll('\n\n', '\n')}\nb i m`,
  ]);
  expect(await printed(jpeg(), 'image/jpeg')).toEqual(['']);
  const palette: [string, Uint8Array][] = [
    ['PLTE', Buffer.from([255, 0, 0])],
    ['tRNS', Buffer.from([9])],
  ];
  const transparent = pngOf({ width: 1, height: 1, colour: 3, depth: 1, chunks: palette }, Buffer.alloc(2));
  expect(await printed(transparent, 'image/png')).toEqual(['']);
});

/** The text of the pages that the bundle makes of it. */
async function printed(source: Uint8Array, mediaType: string): Promise<string[]> {
  const made = (await runBundle(source, mediaType, { to: 'pdf' })) as { bytes: string };
  return textsOf(await readPdf(Buffer.from(made.bytes, 'base64')));
}

/** The result, or the code of the error. */
async function runBundle(source: Uint8Array, mediaType = 'application/pdf', input: object = { to: 'text' }) {
  const program = `
    const { run } = await import(${JSON.stringify(join(folder, 'work/index.mjs'))});
    const document = { mediaType: ${JSON.stringify(mediaType)}, bytes: async () => Buffer.from(process.argv[1], 'base64') };
    const ctx = { signal: new AbortController().signal, progress() {}, log() {} };
    const ran = run({ input: ${JSON.stringify(input)}, files: { document }, ctx });
    const shown = ({ source, ...result }) => source === undefined ? result : { bytes: Buffer.from(source.bytes).toString('base64') };
    console.log(JSON.stringify(await ran.then(shown, (error) => error.code ?? String(error))));`;
  const argv = ['--input-type=module', '--eval', program, Buffer.from(source).toString('base64')];
  return JSON.parse(execFileSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' }));
}
