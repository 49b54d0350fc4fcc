import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../infra/bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-bundle-'));
const waited = ['admit', 'status', 'control', 'reconcile'] as const;
let bytes: Awaited<ReturnType<typeof bundle>>;

beforeAll(async () => {
  bytes = await bundle({ folder });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

test.each(waited)('%s loads quickly: under 900 KB, without the PDF library', (name) => {
  expect(bytes[name]).toBeLessThan(900_000);
  expect(bytes[name]).toBeLessThan(bytes.work - 1_000_000);
});

test.each([...waited, 'work'] as const)('%s carries one language of zod, not all of them', (name) => {
  const code = readFileSync(join(folder, name, 'index.js'), 'utf8');
  expect(code.includes('Invalid input')).toBe(true);
  const hint = 'something uses z.core or { z } as a value; import that from zod/v4/core';
  expect(code.includes('Ungültige Eingabe'), hint).toBe(false);
});
