import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { dynamoRecords } from '../../lib/adapters/dynamo/records.ts';
import { s3Links } from '../../lib/adapters/s3/links.ts';
import { taskView } from '../../lib/domain/task-view.ts';
import { addMs, minute } from '../../lib/domain/time.ts';
import { ProblemError } from '../../lib/http/problem.ts';
import { resultRoute } from '../../lib/http/result-route.ts';
import { admit } from '../../lib/operations/admit.ts';
import { maxInlineBytes } from '../../lib/operations/store-result.ts';
import { Unavailable } from '../../lib/ports.ts';
import { type ResultFileSource, resultFile, type TaskDefinition } from '../../lib/task.ts';
import { drain, openSystem, post, type System } from '../support/deps.ts';
import { proxyEvent } from '../support/event.ts';

const baseUrl = 'https://weir.test/api';

async function accepted(system: System, input: unknown = {}) {
  const admission = await admit(system.deps, post(system, input, { tenant: 'open' }));
  if (admission.kind !== 'admitted') throw new Error(`expected a task, got ${admission.kind}`);
  return admission.record;
}

async function ended(run: TaskDefinition['run'], task: Partial<TaskDefinition> = {}) {
  const system = await openSystem({ run, task });
  const { id } = await accepted(system);
  await drain(system);
  const record = await system.deps.records.read({ tenant: 'open', id });
  if (record === undefined) throw new Error('expected a record');
  return { system, record };
}

/** GET /tasks/{id}/result, and what a client that follows it gets. */
async function getResult({ deps, s3, bucket }: System, id: string) {
  const event = proxyEvent({ pathParameters: { id } });
  const answer = await resultRoute({ records: deps.records, links: s3Links(s3, bucket) }, baseUrl, event).catch(
    (error: unknown) => {
      if (error instanceof ProblemError) return { problem: error.problem };
      throw error;
    },
  );
  if ('problem' in answer) return { status: answer.problem.status, problem: answer.problem };
  const location = answer.headers?.Location;
  if (location === undefined) return { status: answer.statusCode, body: answer.body };
  const followed = await fetch(String(location));
  return {
    status: answer.statusCode,
    location: new URL(String(location)),
    bytes: Buffer.from(await followed.arrayBuffer()),
    headers: followed.headers,
  };
}

describe('JSON', () => {
  test('of up to 100 KB is in the record', async () => {
    const text = 'x'.repeat(maxInlineBytes - 2);
    const { system, record } = await ended(async () => text);
    expect(record).toMatchObject({ result: JSON.stringify(text) });
    expect(taskView(record, baseUrl)).toMatchObject({ result: text });
    expect(await system.objects()).toEqual([]);
    expect(await getResult(system, record.id)).toEqual({ status: 200, body: JSON.stringify(text) });
  });

  test('of more is stored, and the task says where to read it', async () => {
    const value = { text: 'ü'.repeat(60_000) };
    const { system, record } = await ended(async () => value);
    expect(record.result).toBeUndefined();
    expect(record.resultFile).toMatchObject({
      key: `results/${record.id}/1`,
      mediaType: 'application/json',
      size: 120_011,
    });
    const view = taskView(record, baseUrl);
    expect(view).toMatchObject({ status: 'succeeded', resultUrl: `${baseUrl}/v1/tasks/${record.id}/result` });
    expect(view).not.toHaveProperty('result');
    const got = await getResult(system, record.id);
    expect(got.status).toBe(303);
    expect(JSON.parse(got.bytes?.toString() ?? '')).toEqual(value);
    expect(got.headers?.get('content-type')).toBe('application/json');
    expect(got.headers?.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${record.id}.json`);
    expect(Number(got.location?.searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(300);
  });

  test('of a stored result answers a duplicate like any other', async () => {
    const { system, record } = await ended(async () => 'x'.repeat(200_000));
    const again = await admit(system.deps, post(system, {}, { tenant: 'open' }));
    expect(again).toMatchObject({ kind: 'reused', record: { id: record.id, resultFile: record.resultFile } });
  });
});

describe('a result that is a file', () => {
  test('is downloaded under its name and as its type', async () => {
    const bytes = randomBytes(3_000_000);
    const { system, record } = await ended(async () =>
      resultFile({ bytes, mediaType: 'application/pdf', name: '../Übersicht "1"\r\n.pdf' }),
    );
    expect(record).toMatchObject({
      status: 'succeeded',
      resultFile: { size: 3_000_000, mediaType: 'application/pdf' },
    });
    const got = await getResult(system, record.id);
    expect(got.bytes?.equals(bytes)).toBe(true);
    expect(got.headers?.get('content-type')).toBe('application/pdf');
    expect(got.headers?.get('content-disposition')).toBe("attachment; filename*=UTF-8''_%C3%9Cbersicht%20_1___.pdf");
    const head = new HeadObjectCommand({ Bucket: system.bucket, Key: record.resultFile?.key, ChecksumMode: 'ENABLED' });
    const { ChecksumSHA256 = '' } = await system.s3.send(head);
    expect(Buffer.from(ChecksumSHA256, 'base64').toString('hex')).toBe(record.resultFile?.sha256);
  });

  test('is read from a path, and its folder cleaned up', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-result-'));
    const path = join(folder, 'made.bin');
    const bytes = randomBytes(2_500_000);
    writeFileSync(path, bytes);
    const cleanUp = async () => rmSync(folder, { recursive: true });
    const { system, record } = await ended(async () => resultFile({ path, mediaType: 'application/zip', cleanUp }));
    expect((await getResult(system, record.id)).bytes?.equals(bytes)).toBe(true);
    expect(existsSync(folder)).toBe(false);
  });

  test('of no bytes is one too', async () => {
    const { system, record } = await ended(async () =>
      resultFile({ bytes: new Uint8Array(), mediaType: 'text/plain' }),
    );
    expect(await getResult(system, record.id)).toMatchObject({ status: 303, bytes: Buffer.alloc(0) });
  });

  test('needs a media type', () => {
    const make = (mediaType: string) => () => resultFile({ bytes: new Uint8Array(), mediaType } as ResultFileSource);
    expect(make('pdf')).toThrow('expected a media type');
    expect(make('text/plain\r\nx: y')).toThrow('expected a media type');
  });

  test('that cannot be stored has the attempt tried again', async () => {
    const system = await openSystem({
      run: async () => resultFile({ bytes: Buffer.from('x'), mediaType: 'text/plain' }),
      task: { retry: { firstMs: 1, longestMs: 1 } },
    });
    const { id } = await accepted(system);
    let tries = 0;
    const { files } = system.deps;
    const failing: typeof files = {
      ...files,
      store: async (...args) => {
        if (++tries === 1) throw new Unavailable('s3', 'no answer');
        return files.store(...args);
      },
    };
    await drain({ ...system, deps: { ...system.deps, files: failing } });
    expect(await system.deps.records.read({ tenant: 'open', id })).toMatchObject({ status: 'succeeded', attempt: 2 });
  });
});

describe('where there is nothing to read', () => {
  test('a task that has not ended', async () => {
    const system = await openSystem();
    const { id } = await accepted(system);
    expect(await getResult(system, id)).toMatchObject({
      status: 409,
      problem: { code: 'not_finished', members: { state: 'queued' } },
    });
  });

  test('a task that failed', async () => {
    const { system, record } = await ended(() => Promise.reject(new Error('no')), { retry: { attempts: 1 } });
    expect(await getResult(system, record.id)).toMatchObject({
      status: 409,
      problem: { code: 'no_result', members: { state: 'failed' } },
    });
  });

  test.each([
    ['in the record', 10],
    ['stored', 200_000],
  ])('a result %s whose time is over, which answers no duplicate either', async (_where, size) => {
    const { system, record } = await ended(async () => 'x'.repeat(size), { result: { keepMs: 2 * minute } });
    expect((await getResult(system, record.id)).status).toBeLessThan(400);
    expect(record.resultUntil).toBe(addMs(record.finishedAt ?? record.createdAt, 2 * minute));
    const until = record.resultUntil;
    const { client, table } = system;
    const records = dynamoRecords({ client, table, stage: 'test', now: () => until ?? record.createdAt });
    const late = { ...system, deps: { ...system.deps, records } };
    expect(await getResult(late, record.id)).toMatchObject({ status: 410, problem: { code: 'result_expired' } });
    const read = await records.read(record);
    expect(read).toMatchObject({ status: 'succeeded' });
    expect(taskView(read ?? record, baseUrl)).not.toHaveProperty('result');
    expect(taskView(read ?? record, baseUrl)).not.toHaveProperty('resultUrl');
    const now = { ...system.deps, records, clock: { ...system.deps.clock, now: () => until ?? record.createdAt } };
    expect((await admit(now, post(system, {}, { tenant: 'open' }))).kind).toBe('admitted');
  });

  test('somebody else’s task', async () => {
    const system = await openSystem();
    const admission = await admit(system.deps, post(system, {}, { tenant: 'other' }));
    if (admission.kind !== 'admitted') throw new Error('expected a task');
    expect(await getResult(system, admission.record.id)).toMatchObject({
      status: 404,
      problem: { code: 'unknown_task' },
    });
  });
});
