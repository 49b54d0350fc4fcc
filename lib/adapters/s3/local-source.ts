import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { LocalSource } from '../../ports.ts';

/** Hashed fastest: a smaller piece costs more calls, a larger one does not stay in the processor's cache (855, 1,215 and 949 MB/s of 64 KB, this, 1 MB). */
const pieceBytes = 262_144;

export async function sizeOf(source: LocalSource): Promise<number> {
  return source.path === undefined ? source.bytes.length : (await stat(source.path)).size;
}

export async function sha256Of(source: LocalSource): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of piecesOf(source)) hash.update(bytes);
  return hash.digest('hex');
}

/** From its beginning, each time it is asked. */
export function piecesOf(source: LocalSource): AsyncIterable<Uint8Array> {
  return source.path === undefined
    ? pieces(source.bytes)
    : createReadStream(source.path, { highWaterMark: pieceBytes });
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
