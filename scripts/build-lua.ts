import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const folder = new URL('../lua/', import.meta.url);
const target = new URL('../lib/adapters/redis/sources.generated.ts', import.meta.url);

function read(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8');
}

/** Replaces each `-- @include name` by `lua/include/name.lua`. */
function inline(source: string): string {
  return source.replace(/^-- @include (\S+)$/gm, (_line, name: string) => inline(read(`include/${name}.lua`).trim()));
}

/** Without lines that are comment alone or empty: every function that asks Redis carries these texts, and Redis keeps them. */
function withoutComments(source: string): string {
  return source.replace(/^\s*(--.*)?\n/gm, '');
}

/** Without functions that nothing calls: a script makes all of its functions anew in each call. */
function withoutUnused(source: string): string {
  const functions = [...source.matchAll(/^local function (\w+).*?^end\n/gms)];
  const unused = functions.find(([, name]) => source.match(new RegExp(`\\b${name}\\b`, 'g'))?.length === 1);
  return unused === undefined ? source : withoutUnused(source.replace(unused[0], ''));
}

function withoutIndents(source: string): string {
  return source.replace(/^ +/gm, '').trim();
}

const names = readdirSync(folder)
  .filter((file) => file.endsWith('.lua'))
  .map((file) => basename(file, '.lua'))
  .sort();
const sources = names.map(
  (name) => [name, withoutIndents(withoutUnused(withoutComments(inline(read(`${name}.lua`)))))] as const,
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
