import { Readable } from 'node:stream';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  NoSuchKey,
  PutObjectCommand,
  PutObjectTaggingCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { uploadTag } from '../../domain/file-places.ts';
import { toEpochMs } from '../../domain/time.ts';
import type { StoredObject } from '../../domain/upload.ts';
import type { Files } from '../../ports.ts';
import { bounded, isOutage } from '../outage.ts';
import { piecesOf, sha256Of, sizeOf } from './local-source.ts';

/** How often a stream is sent from its beginning. */
const mostSends = 3;

/** S3 behind the `Files` port. What is stored carries its SHA-256, which S3 checks. */
export function s3Files(client: S3Client, bucket: string): Files {
  async function head(key: string): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key, ChecksumMode: 'ENABLED' }));
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  const send = (
    key: string,
    body: Uint8Array | Readable,
    { mediaType, sha256, size }: { mediaType: string; sha256: string; size?: number },
    signal?: AbortSignal,
  ) =>
    client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentType: mediaType,
        ...(size === undefined ? {} : { ContentLength: size }),
        ChecksumSHA256: base64Of(sha256),
      }),
      signal === undefined ? {} : { abortSignal: signal },
    );

  return bounded('s3', {
    async put(key, bytes, about) {
      await send(key, bytes, about);
    },
    async store(key, source, { mediaType, maxBytes }, signal) {
      const size = await sizeOf(source);
      if (size > maxBytes) return { kind: 'too_large', size };
      const sha256 = await sha256Of(source);
      for (let tries = 1; ; tries++) {
        try {
          const body = Readable.from(piecesOf(source), { objectMode: false });
          await send(key, body, { mediaType, sha256, size }, signal);
          return { kind: 'stored', size, sha256 };
        } catch (error) {
          signal.throwIfAborted();
          if (tries === mostSends || !isOutage(error)) throw error;
        }
      }
    },
    async look(key) {
      const found = await head(key);
      return found && described(found);
    },
    async open(key, signal) {
      const found = await head(key);
      if (found === undefined) return { kind: 'absent' };
      try {
        // Without a checksum mode: the client would compute over all of it once more what the reader computes anyway.
        const input = { Bucket: bucket, Key: key, ...(found.ETag === undefined ? {} : { IfMatch: found.ETag }) };
        const { Body } = await client.send(new GetObjectCommand(input), { abortSignal: signal });
        if (!(Body instanceof Readable)) throw new Error(`expected a body at ${key}`);
        return { kind: 'opened', ...described(found), bytes: Body };
      } catch (error) {
        // It was there a moment ago and is gone, or is another one now.
        if (error instanceof NoSuchKey || (error as S3ServiceException).name === 'PreconditionFailed') {
          return { kind: 'absent' };
        }
        throw error;
      }
    },
    async keep(key) {
      const TagSet = [{ Key: uploadTag.key, Value: uploadTag.kept }];
      await client.send(new PutObjectTaggingCommand({ Bucket: bucket, Key: key, Tagging: { TagSet } }));
    },
    async remove(keys) {
      if (keys.length === 0) return;
      const { Errors } = await client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true } }),
      );
      if (Errors !== undefined && Errors.length > 0) {
        throw new Error(`could not remove ${Errors.map(({ Key, Code }) => `${Key} (${Code})`).join(', ')}`);
      }
    },
  } satisfies Files);
}

/** Whoever may not list a bucket is told 403 of what is not there; the functions may not, and read what they may. */
function isAbsent(error: unknown): boolean {
  return error instanceof S3ServiceException && [403, 404].includes(error.$metadata.httpStatusCode ?? 0);
}

function described({ ContentLength = 0, ChecksumSHA256, LastModified }: HeadObjectCommandOutput): StoredObject {
  if (LastModified === undefined) throw new Error('expected Last-Modified of an object');
  // A composite checksum (`…-2`) is none of the whole.
  const whole = ChecksumSHA256 !== undefined && !ChecksumSHA256.includes('-') ? ChecksumSHA256 : undefined;
  return {
    size: ContentLength,
    sha256: whole && Buffer.from(whole, 'base64').toString('hex'),
    storedAt: toEpochMs(LastModified.getTime()),
  };
}

export function base64Of(sha256: string): string {
  return Buffer.from(sha256, 'hex').toString('base64');
}
