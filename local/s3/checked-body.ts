import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';

/** The bytes were not those that the checksum names. */
export class BadDigest extends Error {
  override readonly name = 'BadDigest';
}

/**
 * Passes bytes on while it hashes them, and keeps the last piece back until all are known: where they are not those of the checksum (SHA-256 in base64) it
 * fails with `BadDigest`, and whoever reads it has not seen their end.
 */
export function checkedBody(checksum: string): Transform {
  const hash = createHash('sha256');
  let held: Buffer | undefined;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      const before = held;
      held = chunk;
      done(null, before);
    },
    flush(done) {
      if (hash.digest('base64') === checksum) done(null, held);
      else done(new BadDigest('The SHA256 you specified did not match the calculated checksum.'));
    },
  });
}

export function isChecksum(text: string): boolean {
  return Buffer.from(text, 'base64').length === 32 && Buffer.from(text, 'base64').toString('base64') === text;
}
