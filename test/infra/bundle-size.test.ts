import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../infra/bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-bundle-'));
const functions = [
  'authorize',
  'admit',
  'status',
  'control',
  'reconcile',
  'work',
  'bury',
  'deliver',
  'upload',
] as const;
let bytes: Awaited<ReturnType<typeof bundle>>;

beforeAll(async () => {
  bytes = await bundle({ folder });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['authorize', 320_000],
  ['admit', 1_050_000],
  ['status', 800_000],
  ['control', 850_000],
  ['reconcile', 850_000],
  ['work', 1_000_000],
  ['bury', 800_000],
  ['deliver', 700_000],
  ['upload', 850_000],
] as const)('%s loads at most %i bytes when it starts', (name, most) => {
  expect(bytes[name]).toBeLessThan(most);
});

test.each(functions)('%s carries one language of zod, not all of them', (name) => {
  const chunks = readdirSync(join(folder, name)).filter((file) => file.endsWith('.mjs'));
  const files = chunks.map((file) => readFileSync(join(folder, name, file), 'utf8'));
  expect(files.some((code) => code.includes('Invalid input'))).toBe(true);
  const hint = 'something uses z.core or { z } as a value; import that from zod/v4/core';
  expect(
    files.some((code) => code.includes('Ungültige Eingabe')),
    hint,
  ).toBe(false);
});
