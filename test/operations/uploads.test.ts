import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, GetObjectTaggingCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { addMs, day, hour, minute } from '../../lib/domain/time.ts';
import type { Admission } from '../../lib/operations/admission.ts';
import { admit } from '../../lib/operations/admit.ts';
import { redrive } from '../../lib/operations/redrive.ts';
import { deleteUpload, offerUpload, readUpload } from '../../lib/operations/upload.ts';
import type { TaskFile } from '../../lib/task.ts';
import { drain, heldLeases, later, openSystem, post, type System } from '../support/deps.ts';
import { dumpCell } from '../support/gate.ts';
import { asPart, declared, offered, put, uploadDeps, uploaded } from '../support/uploads.ts';

/** A post that names an upload. */
function naming(system: System, uploadId: string, over: Parameters<typeof post>[2] & { name?: string } = {}) {
  const { name, ...rest } = over;
  const content = { input: {}, files: [], uploads: [{ field: 'document', uploadId, name }], options: {} };
  return post(system, {}, { submission: { kind: 'read', content }, ...rest });
}

function recordOf(admission: Admission) {
  if (admission.kind === 'admitted' || admission.kind === 'joined' || admission.kind === 'reused')
    return admission.record;
  throw new Error(`expected a task, got ${admission.kind}`);
}

const readText = async ({ files }: { files: Readonly<Record<string, TaskFile | undefined>> }) => {
  const text = Buffer.from((await files.document?.bytes()) ?? '').toString();
  return { text, name: files.document?.name };
};

async function tagOf({ s3, bucket }: System, Key: string): Promise<string | undefined> {
  return (await s3.send(new GetObjectTaggingCommand({ Bucket: bucket, Key }))).TagSet?.[0]?.Value;
}

describe('an upload', () => {
  test('is pending, then ready, then a task reads it', async () => {
    const system = await openSystem({ run: readText });
    const bytes = Buffer.from('hello');
    const offer = await offered(system, bytes);
    const key = { tenant: 't', id: offer.upload.id };
    expect(await readUpload(uploadDeps(system), key)).toMatchObject({ status: 'pending' });
    expect(await admit(system.deps, naming(system, key.id))).toMatchObject({
      kind: 'upload_pending',
      field: 'document',
    });
    expect(await put(offer, bytes)).toBe(200);
    expect(await readUpload(uploadDeps(system), key)).toMatchObject({ status: 'ready' });
    const record = recordOf(await admit(system.deps, naming(system, key.id, { name: 'greeting.txt' })));
    await drain(system);
    const ended = await system.deps.records.read(record);
    expect(JSON.parse(ended?.result ?? '')).toEqual({ text: 'hello', name: 'greeting.txt' });
  });

  test.each([
    ['a whole day later', day, 'upload_expired'],
    ['with nothing there once its URL is no more good', 6 * minute, 'upload_expired'],
    ['with nothing there while its URL is good', 4 * minute, 'upload_pending'],
  ])('%s is %s', async (_when, ms, kind) => {
    const system = await openSystem();
    const { upload } = await offered(system, randomBytes(5));
    expect(await admit(later(system, ms), naming(system, upload.id))).toMatchObject({ kind });
    expect(await system.objects()).toEqual([]);
    expect(await heldLeases(system)).toEqual([]);
  });

  test('of somebody else is as unknown as none', async () => {
    const system = await openSystem();
    const id = await uploaded(system, Buffer.from('theirs'), { tenant: 'other' });
    const deps = uploadDeps(system);
    expect(await readUpload(deps, { tenant: 't', id })).toBeUndefined();
    expect(await deleteUpload(deps, { tenant: 't', id })).toBeUndefined();
    expect(await admit(system.deps, naming(system, id))).toMatchObject({ kind: 'unknown_upload', uploadId: id });
    expect(await readUpload(deps, { tenant: 'other', id })).toMatchObject({ status: 'ready' });
    expect((await offerUpload(deps, 't', declared(Buffer.from('theirs')))).kind).toBe('url');
  });

  test('takes the declared bytes and no others, and none twice', async () => {
    const system = await openSystem();
    const bytes = Buffer.from('declared');
    const offer = await offered(system, bytes);
    expect(await put(offer, Buffer.from('Declared'))).toBe(400);
    expect(await put(offer, Buffer.from('declared, and more'))).toBe(403);
    expect(await system.objects()).toEqual([]);
    expect(await put(offer, bytes)).toBe(200);
    expect(await put(offer, bytes)).toBe(412);
  });

  test.each([
    ['a media type', 'application/pdf', 5, 'files.document.mediaType'],
    ['a size', 'text/plain', 1_000_001, 'files.document.size'],
  ])('with %s that the task does not take is refused by its path', async (_what, mediaType, size, path) => {
    const system = await openSystem();
    const bytes = randomBytes(size);
    const offer = await offered(system, bytes, { mediaType });
    await put(offer, bytes);
    const before = await dumpCell(system.connection, system.stage);
    const refused = await admit(system.deps, naming(system, offer.upload.id));
    expect(refused).toMatchObject({ kind: 'unfit', faults: [{ path }] });
    expect(await dumpCell(system.connection, system.stage)).toBe(before);
    expect(await tagOf(system, offer.upload.key)).toBe('unused');
  });

  test('is not looked at while the pool is full', async () => {
    const system = await openSystem({ pool: { running: 1, pending: 0 } });
    await admit(system.deps, post(system, { n: 1 }));
    const untouched = { ...system.deps.uploads, read: () => Promise.reject(new Error('an upload was looked at')) };
    const refused = await admit({ ...system.deps, uploads: untouched }, naming(system, 'x'));
    expect(refused).toMatchObject({ kind: 'rejected' });
  });

  test('that is deleted takes its bytes with it, unless a task uses them', async () => {
    const system = await openSystem({ run: readText });
    const deps = uploadDeps(system);
    const unused = await uploaded(system, Buffer.from('unused'));
    expect(await deleteUpload(deps, { tenant: 't', id: unused })).toMatchObject({ status: 'ready' });
    expect(await system.objects()).toEqual([]);
    expect(await readUpload(deps, { tenant: 't', id: unused })).toBeUndefined();
    expect(await admit(system.deps, naming(system, unused))).toMatchObject({ kind: 'unknown_upload' });

    const used = await uploaded(system, Buffer.from('used'));
    const record = recordOf(await admit(system.deps, naming(system, used)));
    await deleteUpload(deps, { tenant: 't', id: used });
    await drain(system);
    expect(await system.deps.records.read(record)).toMatchObject({ status: 'succeeded' });
  });

  test('that is deleted in the middle of a post leaves no task and holds nothing', async () => {
    const system = await openSystem();
    const id = await uploaded(system, Buffer.from('x'));
    const { uploads } = system.deps;
    const losing: typeof uploads = {
      ...uploads,
      keep: async (key, at) => {
        await deleteUpload(uploadDeps(system), key);
        return uploads.keep(key, at);
      },
    };
    const refused = await admit({ ...system.deps, uploads: losing }, naming(system, id));
    expect(refused).toMatchObject({ kind: 'unknown_upload' });
    expect(await heldLeases(system)).toEqual([]);
    expect(await system.objects()).toEqual([]);
  });
});

test('an upload outlasts a post of it that fails', async () => {
  const system = await openSystem();
  const id = await uploaded(system, Buffer.from('x'));
  const records = { ...system.deps.records, create: () => Promise.reject(new Error('broken')) };
  await expect(admit({ ...system.deps, records }, naming(system, id))).rejects.toThrow('broken');
  expect(await heldLeases(system)).toEqual([]);
  expect(await readUpload(uploadDeps(system), { tenant: 't', id })).toMatchObject({ status: 'ready' });
  expect((await admit(system.deps, naming(system, id))).kind).toBe('admitted');
});

describe('bytes that are there need not be sent', () => {
  test('again: neither before nor after a task has used them', async () => {
    const system = await openSystem({ run: readText });
    const bytes = Buffer.from('same');
    const first = await uploaded(system, bytes);
    const again = await offerUpload(uploadDeps(system), 't', declared(bytes));
    expect(again).toMatchObject({ kind: 'ready', upload: { id: first } });
    await admit(system.deps, naming(system, first));
    const third = await offerUpload(uploadDeps(system), 't', declared(bytes, 'application/pdf'));
    expect(third).toMatchObject({ kind: 'ready', upload: { mediaType: 'application/pdf' } });
    expect(third.upload.id).not.toBe(first);
    const fourth = await offerUpload(uploadDeps(system), 't', declared(bytes));
    const record = recordOf(await admit(system.deps, naming(system, fourth.upload.id, { tenant: 't' })));
    expect(record.files).toMatchObject([{ key: again.upload.key }]);
    expect(await system.objects()).toHaveLength(1);
  });

  test('as another media type, or soon to be gone, they are asked for anew', async () => {
    const system = await openSystem();
    const bytes = Buffer.from('same');
    await uploaded(system, bytes);
    expect((await offerUpload(uploadDeps(system), 't', declared(bytes, 'application/pdf'))).kind).toBe('url');
    await uploaded(system, Buffer.from('old'));
    const deps = { ...uploadDeps(system), clock: later(system, 23.5 * hour).clock };
    expect((await offerUpload(deps, 't', declared(Buffer.from('old')))).kind).toBe('url');
  });

  test('as long as a task made of them now would keep its record, and no longer', async () => {
    const system = await openSystem({ run: readText });
    const bytes = Buffer.from('kept');
    const record = recordOf(await admit(system.deps, naming(system, await uploaded(system, bytes))));
    const { keepMs } = system.deps.weir.times;
    const [file] = record.files;
    expect(file?.keptUntil).toBeGreaterThanOrEqual(addMs(record.createdAt, 2 * keepMs));
    const at = (ms: number) =>
      offerUpload({ ...uploadDeps(system), clock: later(system, ms).clock }, 't', declared(bytes));
    expect(await at(keepMs + 12 * hour)).toMatchObject({ kind: 'ready', upload: { keptUntil: file?.keptUntil } });
    expect((await at(keepMs + day)).kind).toBe('url');
  });
});

describe('what was sent is what is processed', () => {
  const a = Buffer.from('A'.repeat(1_000));
  const b = Buffer.from('B'.repeat(1_000));

  test('an upload is tagged as kept, and its object outlives the record', async () => {
    const system = await openSystem();
    const record = recordOf(await admit(system.deps, naming(system, await uploaded(system, a))));
    const key = record.files[0]?.key ?? '';
    expect(key).toMatch(/^quarantine\/[0-9a-f]{32}\/[0-9a-f-]{36}$/);
    expect(await tagOf(system, key)).toBe('kept');
  });

  test('the same file by multipart and by upload has one fingerprint, and is one task', async () => {
    const system = await openSystem();
    const part = recordOf(await admit(system.deps, post(system, {}, { file: asPart(a, 'a.txt') })));
    const again = await admit(system.deps, naming(system, await uploaded(system, a), { name: 'other.txt' }));
    expect(again).toMatchObject({ kind: 'joined', record: { id: part.id, fingerprint: part.fingerprint } });
  });

  test('PUT A, submit, PUT B through the same URL: refused, and A is processed', async () => {
    const system = await openSystem({ run: readText });
    const offer = await offered(system, a);
    await put(offer, a);
    const record = recordOf(await admit(system.deps, naming(system, offer.upload.id)));
    expect(await put(offer, b)).toBe(412);
    // Even where nothing is in its way.
    await system.s3.send(new DeleteObjectCommand({ Bucket: system.bucket, Key: offer.upload.key }));
    expect(await put(offer, b)).toBe(400);
    expect(await put(offer, a)).toBe(200);
    await drain(system);
    expect(JSON.parse((await system.deps.records.read(record))?.result ?? '').text).toBe(a.toString());
  });

  test.each([
    ['with its own checksum', declared(b).sha256],
    ['without a checksum', undefined],
  ])(
    'B put there by whoever may write the bucket, %s: the task fails, and its handler sees nothing of B',
    async (_how, sha256) => {
      let seen = '';
      const system = await openSystem({
        run: async ({ files }) => {
          // A handler that makes the best of what it gets.
          try {
            for await (const bytes of files.document?.stream() ?? []) seen += Buffer.from(bytes).toString();
          } catch {
            return 'done all the same';
          }
          return seen;
        },
      });
      const offer = await offered(system, a);
      await put(offer, a);
      const record = recordOf(await admit(system.deps, naming(system, offer.upload.id)));
      const checksum = sha256 === undefined ? {} : { ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64') };
      await system.s3.send(
        new PutObjectCommand({ Bucket: system.bucket, Key: offer.upload.key, Body: b, ...checksum }),
      );
      await drain(system);
      const ended = await system.deps.records.read(record);
      expect(ended).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'file_changed' } });
      expect(seen).toBe('');
    },
  );

  test('bytes that are others than S3 says of them fail the task at their end', async () => {
    const system = await openSystem({ run: readText });
    const record = recordOf(await admit(system.deps, naming(system, await uploaded(system, a))));
    const { files } = system.deps;
    const lying: typeof files = {
      ...files,
      open: async (key, signal) => {
        const opened = await files.open(key, signal);
        return opened.kind === 'absent' ? opened : { ...opened, bytes: one(b) };
      },
    };
    await drain({ ...system, deps: { ...system.deps, files: lying } });
    expect(await system.deps.records.read(record)).toMatchObject({ status: 'failed', error: { code: 'file_changed' } });
  });

  test('a file that is gone fails the task, and says so', async () => {
    const system = await openSystem({ run: readText });
    const offer = await offered(system, a);
    await put(offer, a);
    const record = recordOf(await admit(system.deps, naming(system, offer.upload.id)));
    await system.s3.send(new DeleteObjectCommand({ Bucket: system.bucket, Key: offer.upload.key }));
    await drain(system);
    expect(await system.deps.records.read(record)).toMatchObject({ status: 'failed', error: { code: 'file_gone' } });
  });
});

describe('a redriven task', () => {
  async function dead(system: System) {
    const bytes = Buffer.from('again');
    const record = recordOf(await admit(system.deps, naming(system, await uploaded(system, bytes))));
    await drain(system);
    const read = await system.deps.records.read(record);
    if (read?.status !== 'failed') throw new Error(`expected a dead task, got ${read?.status}`);
    return read;
  }

  test('reads the file of the dead one', async () => {
    let runs = 0;
    const system = await openSystem({
      task: { retry: { attempts: 1 } },
      run: async (args) => {
        if (++runs === 1) throw new Error('broken');
        return readText(args);
      },
    });
    const record = await dead(system);
    expect(await redrive(system.deps, record)).toEqual({ kind: 'redriven' });
    const marked = await system.deps.records.read(record);
    await drain(system);
    const again = await system.deps.records.read({ tenant: 't', id: marked?.redrivenAs as never });
    expect(again).toMatchObject({ status: 'succeeded', files: record.files });
    expect(JSON.parse(again?.result ?? '')).toMatchObject({ text: 'again' });
  });

  test('has no longer life than its files, and is not made where they end too soon', async () => {
    const system = await openSystem({
      task: { retry: { attempts: 1 } },
      run: () => Promise.reject(new Error('broken')),
    });
    const record = await dead(system);
    const ending = (ms: number) => ({
      ...record,
      files: record.files.map((file) => ({ ...file, keptUntil: addMs(system.deps.clock.now(), ms) })),
    });
    expect(await redrive(system.deps, ending(hour))).toEqual({ kind: 'refused' });
    expect(await heldLeases(system)).toEqual([]);
    const until = ending(5 * hour);
    expect(await redrive(system.deps, until)).toEqual({ kind: 'redriven' });
    const marked = await system.deps.records.read(record);
    const again = await system.deps.records.read({ tenant: 't', id: marked?.redrivenAs as never });
    expect(again?.expiresAt).toBe(until.files[0]?.keptUntil);
  });
});

async function* one(bytes: Uint8Array) {
  yield bytes;
}
