import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, openAsBlob, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { end, get, post, startLocalStack } from '../support/stack.ts';

const size = 300_000_000;
const folder = mkdtempSync(join(tmpdir(), 'weir-large-'));
const path = join(folder, 'large.bin');
let sha256 = '';

beforeAll(() => {
  const hash = createHash('sha256');
  const pieces = Array.from({ length: 300 }, () => randomBytes(1_000_000));
  for (const piece of pieces) hash.update(piece);
  writeFileSync(path, Buffer.concat(pieces));
  sha256 = hash.digest('hex');
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

function memoryMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_000);
}

test('300 MB are uploaded by a signed URL and read by a task, in a worker whose memory stays flat', async () => {
  const stack = await startLocalStack();
  try {
    const tasks = `${stack.url}/examples/probe/tasks`;
    // One task first, so that the worker has loaded all it needs.
    await end(stack, (await post(tasks, { input: { ms: 0, tag: 'warm' } })).body.id);
    const worker = () => stack.state().functions.find(({ name }) => name.endsWith('work-examples'))?.pid ?? 0;
    const before = memoryMb(worker());
    const declared = { sha256, size, mediaType: 'application/octet-stream' };
    const { body: offer } = await post(`${stack.url}/uploads`, declared);
    const { 'content-length': _, ...headers } = offer.headers as Record<string, string>;
    const sent = await fetch(String(offer.url), { method: 'PUT', headers, body: await openAsBlob(path) });
    expect(sent.status).toBe(200);
    const files = { document: { uploadId: offer.uploadId } };
    const begun = performance.now();
    const { body } = await post(tasks, { input: { ms: 0 }, files });
    expect(await end(stack, body.id)).toMatchObject({
      status: 'succeeded',
      result: { document: { read: size, sha256 } },
    });
    const tookMs = Math.round(performance.now() - begun);
    const after = memoryMb(worker());
    console.log(`the worker's highest memory: ${before} MB before, ${after} MB after; ${tookMs} ms from post to end`);
    expect(after - before).toBeLessThan(100);
    expect((await get(`${stack.url}/uploads/${offer.uploadId}`)).body).toMatchObject({ status: 'ready' });
  } finally {
    await stack.stop();
  }
}, 240_000);

test('reading and checking a file is at least nine tenths as fast as openssl', () => {
  const script = fileURLToPath(new URL('./reading-speed.ts', import.meta.url));
  const { own, openssl } = JSON.parse(execFileSync(process.execPath, [script, path]).toString());
  console.log(
    `own: ${Math.round(own)} MB/s, openssl: ${Math.round(openssl)} MB/s, ${(own / openssl).toFixed(2)} of it`,
  );
  expect(own / openssl).toBeGreaterThan(0.9);
}, 120_000);
