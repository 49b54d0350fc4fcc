import { DeleteObjectsCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { Files } from '../../ports.ts';
import { bounded } from '../outage.ts';

/** S3 behind the `Files` port. What is stored carries its SHA-256, which S3 checks. */
export function s3Files(client: S3Client, bucket: string): Files {
  return bounded('s3', {
    async put(key, bytes, { mediaType, sha256 }) {
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: key,
          Body: bytes,
          ContentType: mediaType,
          ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
        }),
      );
    },
    async get(key) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      if (Body === undefined) throw new Error(`expected a body at ${key}`);
      return Body.transformToByteArray();
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
  });
}
