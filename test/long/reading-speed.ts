// Reads and checks a file as a worker does, and has openssl hash it, in turn: `node reading-speed.ts <file>` prints the best of each in MB a second.
import { execFileSync } from 'node:child_process';
import { createReadStream, statSync } from 'node:fs';
import { toEpochMs } from '../../lib/domain/time.ts';
import { TaskFiles } from '../../lib/operations/task-files.ts';
import type { Files } from '../../lib/ports.ts';

const turns = 20;
const path = process.argv[2] ?? '';
const { size } = statSync(path);
const sha256 = openssl();
const best = { own: 0, openssl: 0 };

for (let n = 0; n < turns; n++) {
  best.own = Math.max(best.own, await speed(reading));
  best.openssl = Math.max(best.openssl, await speed(openssl));
}
console.log(JSON.stringify(best));

async function reading(): Promise<void> {
  const open: Files['open'] = async () => {
    const bytes = createReadStream(path, { highWaterMark: 131_072 });
    return { kind: 'opened', size, sha256, storedAt: toEpochMs(Date.now()), bytes };
  };
  const files = new TaskFiles({ files: { open } as Files }, new AbortController().signal);
  const file = files.of({ field: 'document', mediaType: 'application/octet-stream', size, sha256, key: 'key' });
  let read = 0;
  for await (const bytes of file.stream()) read += bytes.length;
  if (read !== size) throw new Error(`expected ${size} bytes, got ${read}`);
}

function openssl(): string {
  return execFileSync('openssl', ['dgst', '-sha256', '-r', path]).toString().slice(0, 64);
}

async function speed(turn: () => unknown): Promise<number> {
  const begun = performance.now();
  await turn();
  return size / 1_000 / (performance.now() - begun);
}
