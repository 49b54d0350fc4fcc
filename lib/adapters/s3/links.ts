import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { uploadTag } from '../../domain/file-places.ts';
import type { Links } from '../../ports.ts';
import { base64Of } from './files.ts';

/** With a client of its own; signing sends nothing. */
export function openLinks(bucket: string): Links {
  return s3Links(new S3Client({}), bucket);
}

/**
 * Presigned URLs behind the `Links` port. Everything an upload declares is a header that is signed and must be sent: a header the signer moves into the URL
 * binds nobody. So the URL can bring those bytes to that key and no others, and none where there are some already.
 */
export function s3Links(client: S3Client, bucket: string): Links {
  return {
    async upload(key, { sha256, size, mediaType }, forMs) {
      const tagging = `${uploadTag.key}=${uploadTag.unused}`;
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        ContentType: mediaType,
        ContentLength: size,
        ChecksumSHA256: base64Of(sha256),
        IfNoneMatch: '*',
        Tagging: tagging,
      });
      const url = await getSignedUrl(client, command, {
        expiresIn: Math.floor(forMs / 1_000),
        unhoistableHeaders: new Set(['x-amz-checksum-sha256', 'x-amz-tagging']),
        signableHeaders: new Set(['host', 'content-type', 'content-length', 'if-none-match']),
      });
      const headers = {
        'content-type': mediaType,
        'content-length': String(size),
        'if-none-match': '*',
        'x-amz-checksum-sha256': base64Of(sha256),
        'x-amz-tagging': tagging,
      };
      return { url, headers };
    },
    download: (key, { mediaType, disposition }, forMs) =>
      getSignedUrl(
        client,
        new GetObjectCommand({
          Bucket: bucket,
          Key: key,
          ResponseContentType: mediaType,
          ResponseContentDisposition: disposition,
          ResponseCacheControl: 'no-store',
        }),
        { expiresIn: Math.floor(forMs / 1_000) },
      ),
  };
}
