import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const folder = new URL('../lua/', import.meta.url);
const target = new URL('../lib/adapters/redis/sources.generated.ts', import.meta.url);

/** Replaces each `-- @include name` by `lua/include/name.lua`. */
function inline(source: string): string {
  return source.replace(/^-- @include (\S+)$/gm, (_line, name: string) =>
    readFileSync(new URL(`include/${name}.lua`, folder), 'utf8').trim(),
  );
}

/** Without indents and lines that are comment alone: every function that asks Redis carries these texts, and Redis keeps them. */
function bare(source: string): string {
  return source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n');
}

const names = readdirSync(folder)
  .filter((file) => file.endsWith('.lua'))
  .map((file) => basename(file, '.lua'))
  .sort();
const sources = names.map(
  (name) => [name, bare(inline(readFileSync(new URL(`${name}.lua`, folder), 'utf8')))] as const,
);
const generated = [
  '// Made by `npm run build:lua` from lua/. Do not edit.',
  'export const sources = {',
  ...sources.map(([name, source]) => `  ${name}: ${JSON.stringify(source)},`),
  '} as const;',
  '',
].join('\n');

if (process.argv.includes('--check')) {
  const committed = readFileSync(target, 'utf8');
  if (committed !== generated) {
    console.error('lib/adapters/redis/sources.generated.ts is stale: run `npm run build:lua`');
    process.exit(1);
  }
} else {
  writeFileSync(target, generated);
  console.log(`${names.length} scripts → lib/adapters/redis/sources.generated.ts`);
}
