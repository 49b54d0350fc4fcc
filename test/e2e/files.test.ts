import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { end, get, type LocalStack, post, send, startLocalStack } from '../support/stack.ts';

let stack: LocalStack;
beforeAll(async () => {
  stack = await startLocalStack();
});
afterAll(() => stack.stop());

const bytes = randomBytes(12_000_000);
const sha256 = createHash('sha256').update(bytes).digest('hex');
const declared = { sha256, size: bytes.length, mediaType: 'application/octet-stream' };

async function put(offer: Record<string, unknown>, body: Uint8Array): Promise<number> {
  const { 'content-length': _, ...headers } = offer.headers as Record<string, string>;
  const answer = await fetch(String(offer.url), { method: String(offer.method), headers, body: new Uint8Array(body) });
  await answer.text();
  return answer.status;
}

test('a file larger than any request is uploaded, named by a task, and read by it', async () => {
  const { status, body: offer } = await post(`${stack.url}/uploads`, declared);
  expect(status).toBe(201);
  expect(offer).toMatchObject({ status: 'pending', method: 'PUT', ...declared });
  const url = `${stack.url}/uploads/${offer.uploadId}`;
  expect((await get(url)).body).toMatchObject({ status: 'pending' });
  const task = { input: { ms: 0 }, files: { document: { uploadId: offer.uploadId, name: 'noise' } } };
  const tasks = `${stack.url}/examples/probe/tasks`;
  expect(await post(tasks, task)).toMatchObject({
    status: 409,
    body: { code: 'upload_pending', path: 'files.document' },
  });

  const other = Buffer.from(bytes);
  other[0] = (other[0] ?? 0) ^ 1;
  expect(await put(offer, other)).toBe(400);
  expect(await put(offer, bytes)).toBe(200);
  expect(await put(offer, bytes)).toBe(412);
  expect((await get(url)).body).toMatchObject({ status: 'ready' });
  expect(await post(`${stack.url}/uploads`, declared)).toMatchObject({ status: 200, body: { status: 'ready' } });

  const accepted = await post(tasks, task);
  expect(accepted).toMatchObject({
    status: 202,
    body: { dedup: { parts: { files: [{ sha256: `sha256:${sha256}` }] } } },
  });
  expect(await end(stack, accepted.body.id)).toMatchObject({
    status: 'succeeded',
    result: { document: { size: bytes.length, read: bytes.length, sha256 } },
  });

  expect((await send('DELETE', url, '', {})).status).toBe(200);
  expect(await get(url)).toMatchObject({ status: 404, body: { code: 'unknown_upload' } });
  expect(await post(tasks, { ...task, input: { ms: 1 } })).toMatchObject({
    status: 404,
    body: { code: 'unknown_upload' },
  });
  // The task keeps its bytes, so they need not be sent again.
  expect(await post(`${stack.url}/uploads`, declared)).toMatchObject({ status: 200, body: { status: 'ready' } });
});

test.each([
  [{ ...declared, sha256: 'x' }, 'sha256'],
  [{ ...declared, size: 5_000_000_001 }, 'size'],
  [{ ...declared, mediaType: 'pdf' }, 'mediaType'],
  [{ ...declared, name: 'x' }, 'the body'],
])('an upload declared as %j is refused', async (body, path) => {
  const answer = await post(`${stack.url}/uploads`, body);
  expect(answer).toMatchObject({ status: 422, body: { code: 'invalid_input', errors: [{ path }] } });
});

test('a file of a type that the task does not take is 422 with its path', async () => {
  const page = Buffer.from('<html>');
  const html = { sha256: createHash('sha256').update(page).digest('hex'), size: 6, mediaType: 'text/html' };
  const { body: offer } = await post(`${stack.url}/uploads`, html);
  expect(await put(offer, page)).toBe(200);
  const answer = await post(`${stack.url}/examples/probe/tasks`, {
    input: {},
    files: { document: { uploadId: offer.uploadId } },
  });
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: 'files.document.mediaType' }] } });
});

test('a large result is where the task says, for everybody who follows', async () => {
  const { body } = await post(`${stack.url}/examples/probe/tasks`, {
    input: { ms: 0, resultBytes: 10_000_000, tag: 'large' },
  });
  const ended = await end(stack, body.id);
  expect(ended).toMatchObject({ status: 'succeeded', resultUrl: `${stack.url}/tasks/${body.id}/result` });
  expect(ended).not.toHaveProperty('result');
  const answer = await fetch(String(ended.resultUrl));
  expect(answer.redirected).toBe(true);
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${body.id}.json`);
  expect(((await answer.json()) as { filler: string }).filler).toHaveLength(10_000_000);

  const small = await post(`${stack.url}/examples/probe/tasks`, { input: { ms: 300, tag: 'small' } });
  const url = `${stack.url}/tasks/${small.body.id}/result`;
  expect(await get(url)).toMatchObject({ status: 409, body: { code: 'not_finished' } });
  await end(stack, small.body.id);
  expect(await get(url)).toMatchObject({ status: 200, body: { tag: 'small' } });
});

test('a body that is not what its digest says is refused', async () => {
  const body = '{"input":{"ms":0}}';
  const md5 = createHash('md5').update('other').digest('base64');
  const answer = await post(`${stack.url}/examples/probe/tasks`, body, { 'content-md5': md5 });
  expect(answer).toMatchObject({ status: 400, body: { code: 'digest_mismatch' } });
});
