import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { bundle } from '../../infra/bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-bundle-'));
const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
afterAll(() => rmSync(folder, { recursive: true }));

test('a worker reads a PDF with the library in its bundle, loaded when a task asks for it; the other functions have none', async () => {
  const out = join(folder, 'pdf');
  const started = await bundle({ folder: out, entry: () => fixture('tasks/light.ts'), tasks: fixture('tasks') });
  expect(runBundle(join(out, 'work/index.mjs'), onePage('Weir'))).toEqual({ pages: ['Weir'] });
  expect(bytesIn(join(out, 'work'))).toBeGreaterThan(1_000_000);
  expect(started.work).toBeLessThan(150_000);
  expect(bytesIn(join(out, 'admit'))).toBeLessThan(150_000);
});

test('a worker carries the files that its tasks read; the other functions have none', async () => {
  const out = join(folder, 'carries');
  await bundle({ folder: out, entry: () => fixture('tasks/carries.ts'), tasks: fixture('tasks') });
  expect(runBundle(join(out, 'work/index.mjs'), new Uint8Array())).toEqual({
    license: expect.any(Number),
    maps: 169,
  });
  expect(readdirSync(join(out, 'work/files')).sort()).toEqual(['dejavu-fonts-ttf', 'pdfjs-dist']);
  expect(readdirSync(join(out, 'admit'))).not.toContain('files');
});

test('refuses a task that reads a file that is not there, and says where', async () => {
  const options = { folder: join(folder, 'lacks'), entry: () => fixture('tasks/lacks.ts'), tasks: fixture('tasks') };
  await expect(bundle(options)).rejects.toThrow(/no such file: .*test\/infra\/fixtures\/tasks\/nowhere\.ttf/);
});

test('refuses a task that imports a library at its top, and says where', async () => {
  const options = { folder: join(folder, 'heavy'), entry: () => fixture('tasks/heavy.ts'), tasks: fixture('tasks') };
  await expect(bundle(options)).rejects.toThrow('test/infra/fixtures/tasks/heavy.ts: import canonicalize inside run');
});

test('names a function whose file is missing', async () => {
  await expect(bundle({ folder, entry: (name) => fixture(`${name}.ts`) })).rejects.toThrow(
    'test/infra/fixtures/admit.ts',
  );
});

/** Runs a bundle's handler as Lambda would: in a process that sees nothing of this project. */
function runBundle(file: string, input: Uint8Array): unknown {
  const program = `
    const { handler } = await import(${JSON.stringify(file)});
    console.log(JSON.stringify(await handler(Buffer.from(process.argv[1], 'base64'))));`;
  const argv = ['--input-type=module', '--eval', program, Buffer.from(input).toString('base64')];
  return JSON.parse(execFileSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' }));
}

function bytesIn(directory: string): number {
  return readdirSync(directory).reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
}

/** The smallest PDF with text on it. */
function onePage(text: string): Uint8Array {
  const content = `BT /F1 24 Tf 72 720 Td (${text}) Tj ET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let pdf = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = pdf.length;
    pdf += `${index + 1} 0 obj${object}endobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const xref = pdf.length;
  pdf += `xref\n0 6\n0000000000 65535 f \n${offsets.join('')}trailer<</Size 6/Root 1 0 R>>\nstartxref\n${xref}\n%%EOF`;
  return new TextEncoder().encode(pdf);
}
