import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import {
  CreateBucketCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { localCredentials } from '../../local/clients.ts';
import type { Listening } from '../../local/listen.ts';
import { startS3Guard } from '../../local/s3/guard.ts';
import type { Service } from '../../local/services/service.ts';
import { startSqsS3 } from '../../local/services/sqs-s3.ts';

const Bucket = `b-${randomUUID()}`;
let store: Service;
let guard: Listening;
let client: S3Client;

beforeAll(async () => {
  store = await startSqsS3();
  guard = await startS3Guard(store, localCredentials);
  client = new S3Client({
    region: 'eu-central-1',
    endpoint: `http://127.0.0.1:${guard.port}`,
    forcePathStyle: true,
    credentials: localCredentials,
  });
  await client.send(new CreateBucketCommand({ Bucket }));
});
afterAll(async () => {
  client.destroy();
  await guard.close();
  await store.stop();
});

const checksum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64');

/** A URL that takes exactly these bytes, and the headers that go with it. */
async function uploadUrl(Key: string, bytes: Buffer, signedAgoMs = 0) {
  const command = new PutObjectCommand({
    ...{ Bucket, Key, ContentType: 'text/plain', ContentLength: bytes.length, IfNoneMatch: '*', Tagging: 'a=1' },
    ChecksumSHA256: checksum(bytes),
  });
  const url = await getSignedUrl(client, command, {
    expiresIn: 60,
    signingDate: new Date(Date.now() - signedAgoMs),
    unhoistableHeaders: new Set(['x-amz-checksum-sha256', 'x-amz-tagging']),
    signableHeaders: new Set(['host', 'content-type', 'content-length', 'if-none-match']),
  });
  const headers: Record<string, string> = {
    'content-type': 'text/plain',
    'if-none-match': '*',
    'x-amz-checksum-sha256': checksum(bytes),
    'x-amz-tagging': 'a=1',
  };
  return { url, headers };
}

async function send(method: string, url: string, body?: Buffer, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: new Uint8Array(body) }) });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function sizeOf(Key: string): Promise<number | undefined> {
  return client.send(new HeadObjectCommand({ Bucket, Key })).then(
    ({ ContentLength }) => ContentLength,
    () => undefined,
  );
}

test('the declared bytes are taken, once', async () => {
  const bytes = Buffer.from('the declared bytes');
  const { url, headers } = await uploadUrl('a/once', bytes);
  expect(await send('PUT', url, bytes, headers)).toMatchObject({ status: 200 });
  const again = await send('PUT', url, bytes, headers);
  expect(again.status).toBe(412);
  expect(again.text).toContain('<Code>PreconditionFailed</Code>');
  const head = await client.send(new HeadObjectCommand({ Bucket, Key: 'a/once', ChecksumMode: 'ENABLED' }));
  expect(head).toMatchObject({ ContentLength: bytes.length, ChecksumSHA256: checksum(bytes) });
});

test('of many at once one is stored, and the others hear of a conflict or of the object', async () => {
  const bytes = randomBytes(200_000);
  const { url, headers } = await uploadUrl('a/many', bytes);
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => (await send('PUT', url, bytes, headers)).status),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.every((status) => [200, 409, 412].includes(status))).toBe(true);
});

const bytes = randomBytes(300_000);
const other = Buffer.from(bytes);
other[299_999] = (other[299_999] ?? 0) ^ 1;

test.each<
  [string, number, string, (to: Awaited<ReturnType<typeof uploadUrl>>) => [string, Buffer, Record<string, string>]]
>([
  ['other bytes of the same length', 400, 'BadDigest', ({ url, headers }) => [url, other, headers]],
  [
    'other bytes under their own checksum',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers }) => [url, other, { ...headers, 'x-amz-checksum-sha256': checksum(other) }],
  ],
  ['fewer bytes', 403, 'SignatureDoesNotMatch', ({ url, headers }) => [url, bytes.subarray(1), headers]],
  [
    'another media type',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers }) => [url, bytes, { ...headers, 'content-type': 'text/html' }],
  ],
  [
    'no checksum',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers: { 'x-amz-checksum-sha256': _, ...headers } }) => [url, bytes, headers],
  ],
  [
    'no condition',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers: { 'if-none-match': _, ...headers } }) => [url, bytes, headers],
  ],
  [
    'other tags',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers }) => [url, bytes, { ...headers, 'x-amz-tagging': 'a=2' }],
  ],
  [
    'a header that is not signed',
    403,
    'AccessDenied',
    ({ url, headers }) => [url, bytes, { ...headers, 'x-amz-acl': 'public-read' }],
  ],
  [
    'another key',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers }) => [url.replace('/refused/', '/elsewhere/'), bytes, headers],
  ],
  [
    'a longer life',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers }) => [url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600'), bytes, headers],
  ],
  [
    'another signature',
    403,
    'SignatureDoesNotMatch',
    ({ url, headers }) => [url.replace(/Signature=../, 'Signature=00'), bytes, headers],
  ],
  [
    'no signature',
    400,
    'AuthorizationQueryParametersError',
    ({ url, headers }) => [url.replace(/X-Amz-Date=[^&]*/, ''), bytes, headers],
  ],
  [
    'another user',
    403,
    'InvalidAccessKeyId',
    ({ url, headers }) => [url.replace('Credential=local', 'Credential=other'), bytes, headers],
  ],
  ['nothing that says who it is', 403, 'AccessDenied', ({ url, headers }) => [url.replace(/\?.*/, ''), bytes, headers]],
])('a PUT with %s is refused with %i %s, and nothing is stored', async (what, status, code, change) => {
  const Key = `refused/${what}`;
  const [url, body, headers] = change(await uploadUrl(Key, bytes));
  const answer = await send('PUT', url, body, headers);
  expect(answer.text).toContain(`<Code>${code}</Code>`);
  expect(answer.status).toBe(status);
  expect(await sizeOf(Key)).toBeUndefined();
  expect(await sizeOf(Key.replace('refused', 'elsewhere'))).toBeUndefined();
});

test('a URL is no more good when its time is over', async () => {
  const { url, headers } = await uploadUrl('a/late', bytes, 61_000);
  const answer = await send('PUT', url, bytes, headers);
  expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('Request has expired') });
  expect(await sizeOf('a/late')).toBeUndefined();
});

test('who asks before he sends is refused before he sends', async () => {
  const { url, headers } = await uploadUrl('a/asks', bytes);
  const answer = await new Promise<{ status: number; continued: boolean }>((resolve, reject) => {
    let continued = false;
    const sent = request(url.replace(/Signature=../, 'Signature=00'), {
      method: 'PUT',
      headers: { ...headers, 'content-length': bytes.length, expect: '100-continue' },
    });
    sent.on('continue', () => {
      continued = true;
    });
    sent.on('response', (response) => resolve({ status: response.statusCode ?? 0, continued }));
    sent.on('error', reject);
    sent.flushHeaders();
  });
  expect(answer).toEqual({ status: 403, continued: false });
});

test('a download is what its URL says, with the headers it says', async () => {
  await client.send(new PutObjectCommand({ Bucket, Key: 'a/däta 1', Body: 'data', ContentType: 'text/html' }));
  const command = new GetObjectCommand({
    ...{ Bucket, Key: 'a/däta 1', ResponseContentType: 'text/plain' },
    ResponseContentDisposition: "attachment; filename*=UTF-8''%E2%82%AC.txt",
  });
  const url = await getSignedUrl(client, command, { expiresIn: 60 });
  const answer = await send('GET', url);
  expect(answer).toMatchObject({ status: 200, text: 'data' });
  expect(answer.headers.get('content-type')).toBe('text/plain');
  expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''%E2%82%AC.txt");
  expect(await send('GET', url.replace('text%2Fplain', 'text%2Fhtml'))).toMatchObject({ status: 403 });
  expect(await send('DELETE', url)).toMatchObject({ status: 403 });
});

test('tags are those of the last write', async () => {
  const { url, headers } = await uploadUrl('a/tags', bytes);
  await send('PUT', url, bytes, headers);
  const tags = async () => (await client.send(new GetObjectTaggingCommand({ Bucket, Key: 'a/tags' }))).TagSet;
  expect(await tags()).toEqual([{ Key: 'a', Value: '1' }]);
  const Tagging = { TagSet: [{ Key: 'b', Value: '2' }] };
  await client.send(new PutObjectTaggingCommand({ Bucket, Key: 'a/tags', Tagging }));
  expect(await tags()).toEqual([{ Key: 'b', Value: '2' }]);
  expect(await sizeOf('a/tags')).toBe(bytes.length);
  await expect(client.send(new PutObjectTaggingCommand({ Bucket, Key: 'a/none', Tagging }))).rejects.toMatchObject({
    name: 'NoSuchKey',
  });
  await client.send(new PutObjectCommand({ Bucket, Key: 'a/tags', Body: 'x' }));
  expect(await tags()).toEqual([]);
});

test('a client that goes away in the middle leaves nothing', async () => {
  const { url, headers } = await uploadUrl('a/cut', bytes);
  const sent = request(url, { method: 'PUT', headers: { ...headers, 'content-length': bytes.length } });
  sent.on('error', () => undefined);
  await new Promise<void>((resolve) => sent.write(bytes.subarray(0, 100_000), () => resolve()));
  sent.destroy();
  // Until the guard has noticed, the object is being written; it was not if it can be written now.
  await expect.poll(async () => (await send('PUT', url, bytes, headers)).status).toBe(200);
});

test('a body that the checksum header of the SDK goes with is checked too', async () => {
  const wrong = client.send(
    new PutObjectCommand({ Bucket, Key: 'a/sdk', Body: 'x', ChecksumSHA256: checksum(Buffer.from('y')) }),
  );
  await expect(wrong).rejects.toMatchObject({ name: 'BadDigest' });
  const empty = client.send(
    new PutObjectCommand({ Bucket, Key: 'a/empty', Body: '', ChecksumSHA256: checksum(Buffer.from('y')) }),
  );
  await expect(empty).rejects.toMatchObject({ name: 'BadDigest' });
  expect(await sizeOf('a/sdk')).toBeUndefined();
  expect(await sizeOf('a/empty')).toBeUndefined();
  await client.send(
    new PutObjectCommand({ Bucket, Key: 'a/empty', Body: '', ChecksumSHA256: checksum(Buffer.alloc(0)) }),
  );
  expect(await sizeOf('a/empty')).toBe(0);
});

test('300 MB go through in little memory', async () => {
  const pieces = 300;
  const piece = randomBytes(1_000_000);
  const hash = createHash('sha256');
  for (let n = 0; n < pieces; n++) hash.update(piece);
  const before = process.memoryUsage().rss;
  let most = 0;
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 50);
  const stream = async function* () {
    for (let n = 0; n < pieces; n++) yield piece;
  };
  await client.send(
    new PutObjectCommand({
      ...{
        Bucket,
        Key: 'a/large',
        Body: Readable.from(stream(), { objectMode: false }),
        ContentLength: pieces * piece.length,
      },
      ChecksumSHA256: hash.digest('base64'),
    }),
  );
  clearInterval(watching);
  expect(await sizeOf('a/large')).toBe(300_000_000);
  // The client, too, is in this process.
  expect(most - before).toBeLessThan(120_000_000);
});
