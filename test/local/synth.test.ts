import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readAssembly } from '../../local/assembly.ts';
import { synthesize } from '../../local/synth.ts';

// An app that needs no library: it writes the assembly by hand.
const app = `
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const write = (name, value) => writeFileSync(join(process.env.CDK_OUTDIR, name), JSON.stringify(value));
const resources = JSON.parse(readFileSync('resources.json', 'utf8'));
write('manifest.json', {
  version: '36.0.0',
  artifacts: { One: { type: 'aws:cloudformation:stack', environment: 'aws://unknown-account/unknown-region', properties: { templateFile: 'One.template.json' } } },
});
write('One.template.json', { Resources: resources });
write('One.assets.json', { files: {} });
`;

let projectDir: string;
let dataDir: string;

beforeEach(() => {
  projectDir = mkdtempSync(join(tmpdir(), 'synth-'));
  dataDir = mkdtempSync(join(tmpdir(), 'synth-data-'));
  write('cdk.json', JSON.stringify({ app: 'node app.mjs', watch: { include: ['**'], exclude: ['notes', '*.md'] } }));
  write('app.mjs', app);
  write('resources.json', '{"Box":{"Type":"AWS::S3::Bucket"}}');
});
afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of [projectDir, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, content: string) => writeFileSync(join(projectDir, name), content);
const synth = () => synthesize(projectDir, dataDir, { defer: () => {} });
const isFresh = async () => (await synth()).fresh;

test('is repeated only when something it reads has changed', { timeout: 60_000 }, async () => {
  expect(await isFresh()).toBe(true);
  expect(Object.keys(readAssembly(join(dataDir, 'cdk.out')).template.Resources)).toEqual(['Box']);
  expect(await isFresh()).toBe(false);
  write('README.md', 'left out by watch.exclude');
  vi.stubEnv('WEIR_DATA', dataDir);
  vi.stubEnv('OTHER', 'x');
  expect(await isFresh()).toBe(false);
  write('resources.json', '{"Crate":{"Type":"AWS::S3::Bucket"}}');
  expect(await isFresh()).toBe(true);
  expect(Object.keys(readAssembly(join(dataDir, 'cdk.out')).template.Resources)).toEqual(['Crate']);
  vi.stubEnv('WEIR_LIMIT', '3');
  expect(await isFresh()).toBe(true);
  expect(await isFresh()).toBe(false);
  rmSync(join(dataDir, 'cdk.out.sha256'));
  expect(await isFresh()).toBe(true);
});

test('is not repeated when a variable changes that only gives a secret its value', { timeout: 60_000 }, async () => {
  const secret = (local: object) =>
    write('resources.json', JSON.stringify({ S: { Type: 'AWS::SecretsManager::Secret', Metadata: { local } } }));
  secret({ environmentVariable: 'WEIR_TOKEN' });
  vi.stubEnv('WEIR_TOKEN', 'first');
  expect(await isFresh()).toBe(true);
  vi.stubEnv('WEIR_TOKEN', 'second');
  expect(await isFresh()).toBe(false);
  vi.stubEnv('WEIR_TOKEN_OF_OTHERS', 'x');
  expect(await isFresh()).toBe(true);
  secret({});
  expect(await isFresh()).toBe(true);
  vi.stubEnv('WEIR_TOKEN', 'third');
  expect(await isFresh()).toBe(true);
});

test('that was interrupted is done again', { timeout: 30_000 }, async () => {
  expect(await isFresh()).toBe(true);
  rmSync(join(dataDir, 'cdk.out.sha256'));
  writeFileSync(join(dataDir, 'cdk.out', 'manifest.json'), '{');
  expect(await isFresh()).toBe(true);
});

test('that fails shows the app’s own words, and is tried again', { timeout: 30_000 }, async () => {
  write('resources.json', 'no JSON');
  await expect(synth()).rejects.toThrow(/^cdk synth failed \(exit status \d+\); its own words:\n.*SyntaxError/s);
  write('resources.json', '{"Box":{"Type":"AWS::S3::Bucket"}}');
  expect(await isFresh()).toBe(true);
});
