import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../infra/bundle.ts';
import type { Variables } from '../../lib/settings.ts';

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

const nowhere = 'http://127.0.0.1:1';
const variables: Variables<'work'> = {
  WEIR_STAGE: 'main',
  WEIR_REDIS_URL: 'redis://127.0.0.1:1',
  WEIR_REDIS_SECRET_ARN: 'arn',
  WEIR_TABLE: 'table',
  WEIR_QUEUE_URLS: JSON.stringify({ examples: `${nowhere}/queue` }),
  WEIR_MEND_QUEUE_URL: `${nowhere}/mend`,
  WEIR_DELIVER_QUEUE_URL: `${nowhere}/deliver`,
  WEIR_BUCKET: 'bucket',
  WEIR_POOL: 'examples',
};
const identity = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };

/** An attempt whose beats reach no Redis, for a thread that has only the bundle. */
const held = {
  record: {
    tenant: 't',
    id: '017f22e2-79b0-7cc3-98c4-dc0c0c07398f',
    api: 'examples/probe',
    tiers: [{ tier: 'pool', name: 'examples' }],
    permits: 1,
    dedupKey: 'D#t#f#x',
  },
  key: { tenant: 't', id: '017f22e2-79b0-7cc3-98c4-dc0c0c07398f', attempt: 1, holder: 'n' },
  pool: { name: 'examples', leaseMs: 90, heartbeatMs: 30 },
  receiptHandle: 'r',
};

test("the worker's bundle holds its heartbeat thread, which ends a process that blocks, seeing nothing of this project", async () => {
  const program = `
    import { Worker } from 'node:worker_threads';
    const thread = new Worker(new URL(${JSON.stringify(pathToFileURL(join(folder, 'work/heartbeat.mjs')).href)}), { execArgv: [] });
    const now = Number(process.hrtime.bigint() / 1_000_000n);
    thread.postMessage({ kind: 'begin', beat: 1, begunAt: now, goodAt: now, held: ${JSON.stringify(held)} });
    thread.once('message', (message) => {
      process._rawDebug(JSON.stringify(message));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    });`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: folder,
    env: { ...identity, ...variables, AWS_ENDPOINT_URL: nowhere },
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGTERM',
  });
  expect(ended.signal).toBe('SIGKILL');
  const lines = `${ended.stdout}${ended.stderr}`
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toContainEqual({ kind: 'lost', beat: 1, because: 'no heartbeat got through' });
  // Written while the main thread was blocked, and the same as the function's own lines.
  const blocked = { level: 'ERROR', service: 'work', message: 'a handler blocks its event loop', attempt: 1 };
  expect(lines).toContainEqual(expect.objectContaining(blocked));
});
