import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { bundle } from '../../infra/bundle.ts';
import { bombOf } from './build-pdf.ts';
import { fixture } from './read-pdf.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-pdf-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('reads, and refuses, from the bundle of the worker too, in a process that sees nothing of this project', async () => {
  await bundle({ folder, entry: () => fileURLToPath(new URL('pdf-entry.ts', import.meta.url)) });
  expect(runBundle(fixture('libreoffice-cjk'))).toMatchObject({ pages: [{ text: '日本語の文章です\n中文 한국어' }] });
  expect(runBundle(fixture('qpdf-user-password'))).toBe('encrypted_pdf');
  expect(runBundle(await bombOf(' ', 800))).toBe('too_complex');
});

/** The result, or the code of the error. */
function runBundle(pdf: Uint8Array): unknown {
  const program = `
    const { run } = await import(${JSON.stringify(join(folder, 'work/index.mjs'))});
    const document = { bytes: async () => Buffer.from(process.argv[1], 'base64') };
    const ctx = { signal: new AbortController().signal, progress() {} };
    const ran = run({ input: { to: 'text', firstPage: 1 }, files: { document }, ctx });
    console.log(JSON.stringify(await ran.catch((error) => error.code)));`;
  const argv = ['--input-type=module', '--eval', program, Buffer.from(pdf).toString('base64')];
  return JSON.parse(execFileSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' }));
}
