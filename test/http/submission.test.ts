import { createHash, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { checkConfig, type Task } from '../../lib/config.ts';
import { ProblemError } from '../../lib/http/problem.ts';
import { bodyKind, readJsonSubmission, readMultipartSubmission } from '../../lib/http/submission.ts';
import { defineTask } from '../../lib/task.ts';

const { tasks } = checkConfig({
  pools: { p: { running: 1, pending: 1 } },
  tasks: [
    defineTask({
      api: 'g/files',
      pool: 'p',
      input: z.strictObject({ to: z.enum(['text']) }),
      files: {
        document: { mediaTypes: ['application/pdf', 'application/octet-stream'], maxBytes: 2_000 },
        cover: { mediaTypes: ['image/png'], maxBytes: 10, required: false },
      },
      timeoutMs: 1_000,
      run: async () => null,
    }),
    defineTask({
      api: 'g/plain',
      pool: 'p',
      input: z.strictObject({ n: z.int() }),
      timeoutMs: 1_000,
      run: async () => null,
    }),
  ],
});
const trustedOrigins = ['http://127.0.0.1:4000'];
const withFiles = { task: tasks['g/files'] as Task, trustedOrigins };
const plain = { task: tasks['g/plain'] as Task, trustedOrigins };

type PartSpec = { name?: string; filename?: string; type?: string; body: Buffer | string; disposition?: string };

function multipart(parts: PartSpec[], { boundary = 'b0undary' } = {}): Buffer {
  const chunks = parts.map(({ name, filename, type, body, disposition }) => {
    const names = [
      name === undefined ? '' : `; name="${name}"`,
      filename === undefined ? '' : `; filename="${filename}"`,
    ].join('');
    const head = `Content-Disposition: ${disposition ?? `form-data${names}`}${type === undefined ? '' : `\r\nContent-Type: ${type}`}`;
    return Buffer.concat([Buffer.from(`\r\n--${boundary}\r\n${head}\r\n\r\n`), Buffer.from(body)]);
  });
  return Buffer.concat([...chunks, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}

const input: PartSpec = { name: 'input', type: 'application/json', body: '{"to":"text"}' };
const contentType = 'multipart/form-data; boundary=b0undary';

async function problemOf(promise: Promise<unknown>): Promise<{ status: number; code: string; detail: string }> {
  const error = await promise.then(
    (value) => new Error(`expected a problem, got ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProblemError)) throw error;
  return error.problem;
}

test('a file of all bytes keeps its SHA-256', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const body = multipart([input, { name: 'document', filename: 'a.pdf', type: 'application/pdf', body: bytes }]);
  const { files } = await readMultipartSubmission(body, contentType, withFiles);
  expect(files).toMatchObject([{ field: 'document', name: 'a.pdf', mediaType: 'application/pdf', size: 256 }]);
  expect(files[0]?.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
});

test.each([
  ['a quoted boundary', 'multipart/form-data; boundary="b0undary"', {}],
  ['an unusual boundary', 'multipart/form-data; boundary="a\'()+_,-./:=?b"', { boundary: "a'()+_,-./:=?b" }],
  ['upper-case type and attribute', 'MULTIPART/Form-Data; BOUNDARY=b0undary', {}],
])('%s is understood', async (_what, type, options) => {
  const body = multipart([input, { name: 'document', filename: 'a', type: 'Application/PDF', body: 'x' }], options);
  const kind = bodyKind(type);
  expect(kind.kind).toBe('multipart');
  expect((await readMultipartSubmission(body, type, withFiles)).files).toHaveLength(1);
});

test('names are data: filename*, paths and Unicode come through or are left out, never an error', async () => {
  const disposition = 'form-data; name="document"; filename*=UTF-8\'\'%e2%82%ac.pdf';
  const body = multipart([input, { disposition, type: 'application/pdf', body: 'x' }]);
  const { files } = await readMultipartSubmission(body, contentType, withFiles);
  expect(files[0]?.name).toBe('€.pdf');
});

test.each<[string, PartSpec[], number, string]>([
  ['no file', [input], 422, 'invalid_input'],
  ['no input', [{ name: 'document', type: 'application/pdf', body: 'x' }], 422, 'invalid_input'],
  ['an unknown part', [input, { name: 'other', body: 'x' }], 400, 'unknown_part'],
  ['a part named __proto__', [input, { name: '__proto__', body: 'x' }], 400, 'unknown_part'],
  ['a part without a name', [input, { body: 'x' }], 400, 'unknown_part'],
  ['a part that comes twice', [input, input], 400, 'repeated_part'],
  ['another media type', [input, { name: 'document', type: 'text/html', body: 'x' }], 415, 'unsupported_media_type'],
  [
    'a file over its own ceiling',
    [input, { name: 'document', type: 'application/pdf', body: 'x'.repeat(2_001) }],
    413,
    'too_large',
  ],
  [
    'a second file over its ceiling',
    [input, { name: 'cover', type: 'image/png', body: 'x'.repeat(11) }],
    413,
    'too_large',
  ],
  ['broken JSON', [{ ...input, body: '{"to":' }], 400, 'malformed_json'],
  ['JSON that is not UTF-8', [{ ...input, body: Buffer.from([0x22, 0xff, 0x22]) }], 400, 'malformed_json'],
  ['a field the schema does not know', [{ ...input, body: '{"to":"text","x":1}' }], 422, 'invalid_input'],
  [
    'an unknown option',
    [input, { name: 'options', type: 'application/json', body: '{"speed":1}' }],
    422,
    'invalid_input',
  ],
  [
    'a part that is no form data',
    [input, { disposition: 'attachment; name="document"', body: 'x' }],
    400,
    'malformed_multipart',
  ],
  [
    'a name broken over two lines',
    [input, { disposition: 'form-data; name="docu\nment"', body: 'x' }],
    400,
    'malformed_multipart',
  ],
  [
    'a name with an encoded line break',
    [input, { disposition: "form-data; name*=utf-8''docu%0Ament", body: 'x' }],
    400,
    'malformed_multipart',
  ],
  [
    'a header line that is none',
    [input, { disposition: 'form-data; name="document"\r\nnonsense', body: 'x' }],
    400,
    'malformed_multipart',
  ],
  [
    'two dispositions',
    [input, { disposition: 'form-data; name="document"\r\nContent-Disposition: form-data; name="cover"', body: 'x' }],
    400,
    'malformed_multipart',
  ],
  [
    'a header of many lines',
    [input, { disposition: `form-data; name="document"${'\r\nX-A: b'.repeat(20)}`, body: 'x' }],
    400,
    'malformed_multipart',
  ],
  [
    'a header of many bytes',
    [input, { disposition: `form-data; name="document"; x="${'y'.repeat(8_000)}"`, body: 'x' }],
    400,
    'malformed_multipart',
  ],
  ['many parts', Array.from({ length: 30 }, (_, n) => ({ name: `p${n}`, body: 'x' })), 400, 'unknown_part'],
])('multipart with %s is refused', async (_what, parts, status, code) => {
  expect(await problemOf(readMultipartSubmission(multipart(parts), contentType, withFiles))).toMatchObject({
    status,
    code,
  });
});

test.each([
  ['no header at all', '\r\n--b0undary\r\n\r\nx'],
  ['only a type', '\r\n--b0undary\r\nContent-Type: application/pdf\r\n\r\nx'],
  ['a header without an end', '\r\n--b0undary\r\nContent-Disposition: form-data; name="document"\r\nx'],
  ['nothing', '\r\n--b0undary'],
])('a part with %s is refused, wherever it stands', async (_what, part) => {
  const document = { name: 'document', filename: 'a.pdf', type: 'application/pdf', body: 'x' };
  const whole = multipart([input, document]).toString('latin1');
  const at = whole.indexOf('\r\n--b0undary', 10);
  const last = whole.lastIndexOf('\r\n--b0undary--');
  for (const body of [
    part + whole,
    whole.slice(0, at) + part + whole.slice(at),
    whole.slice(0, last) + part + whole.slice(last),
  ])
    expect(await problemOf(readMultipartSubmission(Buffer.from(body, 'latin1'), contentType, withFiles))).toMatchObject(
      {
        status: 400,
        code: 'malformed_multipart',
      },
    );
});

test('text before the first boundary and after the last is nobody’s', async () => {
  const document = { name: 'document', filename: 'a.pdf', type: 'application/pdf', body: 'x' };
  const body = Buffer.concat([
    Buffer.from('preamble'),
    multipart([input, document]),
    Buffer.from('epilogue\r\n--b0undary\r\n'),
  ]);
  expect((await readMultipartSubmission(body, contentType, withFiles)).files).toHaveLength(1);
});

test('a body cut anywhere is refused or complete, never half a file', async () => {
  const whole = multipart([
    input,
    { name: 'document', filename: 'a.pdf', type: 'application/pdf', body: randomBytes(300) },
  ]);
  const { files } = await readMultipartSubmission(whole, contentType, withFiles);
  for (let length = 0; length < whole.length; length++) {
    const cut = await readMultipartSubmission(whole.subarray(0, length), contentType, withFiles).catch(
      (error: unknown) => error,
    );
    if (cut instanceof ProblemError) expect(cut.problem.status).toBeLessThan(500);
    else expect(cut).toMatchObject({ files: [{ sha256: files[0]?.sha256 }] });
  }
});

test('random bodies are refused or read, and never end otherwise', async () => {
  const fragment = fc.oneof(
    fc.constantFrom(
      '--b0undary',
      '\r\n',
      '--',
      'Content-Disposition: form-data; name="document"',
      'name="input"',
      '{"to":"text"}',
      '\r\n\r\n',
      ';',
      '"',
    ),
    fc.string({ maxLength: 10 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fragment, { maxLength: 30 }), async (fragments) => {
      const outcome = await readMultipartSubmission(Buffer.from(fragments.join('')), contentType, withFiles).catch(
        (error: unknown) => error,
      );
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ProblemError);
    }),
    { numRuns: 1_000 },
  );
});

test.each<[string, string | Buffer, number, string]>([
  ['broken JSON', '{', 400, 'malformed_json'],
  ['no object', '[]', 400, 'malformed_json'],
  ['no input', '{}', 422, 'invalid_input'],
  ['an unknown member', '{"input":{"n":1},"x":1}', 422, 'invalid_input'],
  ['an unknown option', '{"input":{"n":1},"options":{"x":1}}', 422, 'invalid_input'],
  ['options that are no object', '{"input":{"n":1},"options":[]}', 422, 'invalid_input'],
  ['input of another type', '{"input":{"n":"1"}}', 422, 'invalid_input'],
  ['a key twice', '{"input":{"n":1,"n":2}}', 400, 'malformed_json'],
  ['bytes that are not UTF-8', Buffer.from([0xc3, 0x28]), 400, 'malformed_json'],
])('JSON with %s is refused', async (_what, body, status, code) => {
  expect(await problemOf(readJsonSubmission(Buffer.from(body), plain))).toMatchObject({ status, code });
});

test('a fault names its path and what was expected', async () => {
  const problem = await problemOf(readJsonSubmission(Buffer.from('{"input":{"n":"1"},"x":1}'), plain));
  expect(problem.detail).toBe(
    'x: unknown member, expected input or files or options; input.n: Invalid input: expected number, received string',
  );
});

test('JSON for an api that needs a file says how to send it', async () => {
  const problem = await problemOf(readJsonSubmission(Buffer.from('{"input":{"to":"text"}}'), withFiles));
  expect(problem.detail).toBe(
    'files.document: expected {"uploadId": …} of an upload, or a file sent as a part of multipart/form-data',
  );
});

test('JSON names files by their uploads', async () => {
  const files = { document: { uploadId: 'u-1', name: 'a.pdf' }, cover: { uploadId: 'u-2' } };
  const body = Buffer.from(JSON.stringify({ input: { to: 'text' }, files }));
  const { uploads } = await readJsonSubmission(body, withFiles);
  expect(uploads).toEqual([
    { field: 'document', uploadId: 'u-1', name: 'a.pdf' },
    { field: 'cover', uploadId: 'u-2' },
  ]);
  expect(await readJsonSubmission(Buffer.from('{"input":{"n":1},"files":{}}'), plain)).not.toHaveProperty('uploads');
});

test.each([
  ['[]', 'files'],
  ['7', 'files'],
  ['{"document":{"uploadId":"u"},"other":{"uploadId":"u"}}', 'files.other'],
  ['{"document":{"uploadId":"u"},"__proto__":{"uploadId":"u"}}', 'files.__proto__'],
  ['{"document":"u"}', 'files.document'],
  ['{"document":{"uploadId":7}}', 'files.document.uploadId'],
  ['{"document":{"uploadId":"a b"}}', 'files.document.uploadId'],
  ['{"document":{"uploadId":"u","sha256":"x"}}', 'files.document'],
  ['{"document":{"uploadId":"u","name":""}}', 'files.document.name'],
  ['{"cover":{"uploadId":"u"}}', 'files.document'],
])('files %s are refused by the path %s', async (files, path) => {
  const body = Buffer.from(`{"input":{"to":"text"},"files":${files}}`);
  const problem = await problemOf(readJsonSubmission(body, withFiles));
  expect(problem).toMatchObject({ status: 422, code: 'invalid_input', members: { errors: [{ path }] } });
});

test.each([undefined, '', 'text/plain', 'application/jsonx', 'application/json; charset=utf-16', 'application/xml'])(
  '%j is no body type',
  (type) => {
    expect(() => bodyKind(type)).toThrow('unsupported_media_type');
  },
);

test.each(['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"'])(
  '%j is JSON',
  (type) => {
    expect(bodyKind(type)).toEqual({ kind: 'json' });
  },
);

test('multipart without a boundary is refused', async () => {
  expect(await problemOf(readMultipartSubmission(multipart([input]), 'multipart/form-data', withFiles))).toMatchObject({
    status: 400,
  });
});

test('a fault never repeats more than a little of what was sent', async () => {
  const long = 'k'.repeat(1_000_000);
  for (const body of [`{"input":{"${long}":1}}`, `{"input":{"n":1},"${long}":1}`, `{"${long}":1,"${long}":2}`]) {
    const problem = await problemOf(readJsonSubmission(Buffer.from(body), plain));
    expect(JSON.stringify(problem).length).toBeLessThan(2_000);
  }
});

describe('options.callbackUrl', () => {
  const posted = (callbackUrl: unknown) => Buffer.from(JSON.stringify({ input: { n: 1 }, options: { callbackUrl } }));

  test.each([
    ['https://EXAMPLE.com', 'https://example.com/'],
    ['https://example.com:8443/hook?a=%20', 'https://example.com:8443/hook?a=%20'],
    ['http://127.0.0.1:4000/hook', 'http://127.0.0.1:4000/hook'],
  ])('%s is taken, as it will be called: %s', async (given, taken) => {
    expect((await readJsonSubmission(posted(given), plain)).options).toEqual({ callbackUrl: taken });
  });

  test.each([
    [7, 'Invalid input: expected string, received number'],
    [null, 'Invalid input: expected string, received null'],
    ['', 'expected a URL in visible ASCII characters'],
    ['http://example.com/', 'expected https'],
    ['https://0x7f.1/', 'its address 127.0.0.1 is not public'],
    ['http://127.0.0.1:4001/', 'expected https'],
  ])('%j is 422 with its path and why: %s', async (given, message) => {
    const problem = await problemOf(readJsonSubmission(posted(given), plain));
    expect(problem).toMatchObject({
      status: 422,
      code: 'invalid_input',
      members: { errors: [{ path: 'options.callbackUrl', message }] },
    });
  });

  test('is read from the part options of multipart, and its fault is told beside the others', async () => {
    const options = { name: 'options', type: 'application/json', body: '{"callbackUrl":"https://10.0.0.1/"}' };
    const document = { name: 'document', filename: 'a.pdf', type: 'application/pdf', body: 'x' };
    const wrong = { ...input, body: '{"to":"pdf"}' };
    const problem = await problemOf(
      readMultipartSubmission(multipart([wrong, document, options]), contentType, withFiles),
    );
    expect(problem.detail).toContain('options.callbackUrl: its address 10.0.0.1 is not public');
    expect(problem.detail).toContain('input.to: ');
  });
});
