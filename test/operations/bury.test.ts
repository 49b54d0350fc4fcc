import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { expect, test } from 'vitest';
import { mostBurials } from '../../lib/domain/protocol.ts';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { bury } from '../../lib/operations/bury.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { deadLetters } from '../../lib/operations/dead-letters.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { buryHandler } from '../../lib/queue/bury-handler.ts';
import { diesAt } from '../support/crash.ts';
import { accept, drain, heldLeases, openSystem, type System } from '../support/deps.ts';

function messageOf({ tenant, id }: TaskRecord, send = 1) {
  return { tenant, id, send };
}

/** Buried `times` times, each a message of its own. */
async function buried(system: System, record: TaskRecord, times: number): Promise<void> {
  for (let send = 1; send <= times; send++) {
    expect(await bury(system.deps, messageOf(record, send))).toEqual({ kind: 'due' });
    expect(await reconcile(system.deps)).toMatchObject({ sent: 1 });
  }
}

test('a queued task is due again, and runs; no attempt is counted', async () => {
  const system = await openSystem();
  const record = await accept(system);
  const given = await system.queue.receive();
  if (given !== undefined) await system.queue.remove(given);
  expect(await bury(system.deps, messageOf(record))).toEqual({ kind: 'due' });
  expect(await reconcile(system.deps)).toMatchObject({ sent: 1 });
  expect(await drain(system)).toMatchObject([{ because: 'succeeded' }]);
  expect(await system.deps.records.read(record)).toMatchObject({ status: 'succeeded', attempt: 1, burials: 1 });
  expect(system.counted).toContain('burials_total 1 due');
});

test('buried for the third time it fails, a dead letter, and gives back what it held', async () => {
  const system = await openSystem();
  const record = await accept(system);
  await buried(system, record, mostBurials - 1);
  expect(await bury(system.deps, messageOf(record, mostBurials))).toEqual({ kind: 'failed' });
  expect(await bury(system.deps, messageOf(record, mostBurials))).toEqual({ kind: 'unchanged' });
  expect(await system.deps.records.read(record)).toMatchObject({ status: 'failed', error: { code: 'buried' } });
  expect(await heldLeases(system)).toEqual([]);
  expect((await deadLetters(system.deps, { limit: 10 })).letters).toMatchObject([{ record: { id: record.id } }]);
});

test('one message counts once, however often it is doubled, and an old one does not count', async () => {
  const system = await openSystem();
  const record = await accept(system);
  const all = await Promise.all(Array.from({ length: 10 }, () => bury(system.deps, messageOf(record))));
  expect(all.filter(({ kind }) => kind === 'due')).toHaveLength(1);
  expect(await bury(system.deps, messageOf(record))).toEqual({ kind: 'unchanged' });
  await reconcile(system.deps);
  expect(await bury(system.deps, messageOf(record))).toEqual({ kind: 'unchanged' });
  expect(await system.deps.records.read(record)).toMatchObject({ status: 'queued', burials: 1, sends: 2 });
});

test('what runs, has ended or is not there stays as it is', async () => {
  const system = await openSystem();
  const record = await accept(system);
  const now = system.deps.clock.now();
  const key = { ...record, attempt: 1, holder: 'h' };
  await system.deps.records.start(key, { startedAt: now, deadline: now, dueAt: now, epoch: 1 });
  const running = await system.deps.records.read(record);
  expect(await bury(system.deps, messageOf(record))).toEqual({ kind: 'unchanged' });
  expect(await system.deps.records.read(record)).toEqual(running);
  await cancel(system.deps, record);
  expect(await bury(system.deps, messageOf(record))).toEqual({ kind: 'unchanged' });
  expect(await bury(system.deps, { ...messageOf(record), tenant: 'nobody' })).toEqual({ kind: 'unchanged' });
});

test.each(['before', 'after'] as const)('a burial that dies %s any of its calls is done by the next', async (when) => {
  for (let at = 1, died = true; died; at++) {
    const system = await openSystem();
    const record = await accept(system);
    await buried(system, record, mostBurials - 1);
    died = await diesAt(system.deps, at, when, (deps) => bury(deps, messageOf(record, mostBurials)));
    await bury(system.deps, messageOf(record, mostBurials));
    expect(await system.deps.records.read(record)).toMatchObject({ status: 'failed', error: { code: 'buried' } });
  }
});

test('a message nobody can read is kept once and listed; one that cannot be taken now stays in its queue', async () => {
  const system = await openSystem();
  const record = await accept(system);
  const of = (messageId: string, body: string): SQSRecord => ({
    messageId,
    receiptHandle: 'r',
    body,
    attributes: {} as never,
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-central-1:1:weir-main-work-p-dead',
    awsRegion: 'eu-central-1',
  });
  const handle = (deps: System['deps'], ...Records: SQSRecord[]) =>
    buryHandler(deps)({ Records } as SQSEvent, {} as Context);
  const unreadable = of('0b0c8c5e-7a52-4b5e-9c1e-2f0a8e1d0001', '{"v":9,"who":"knows"');
  const readable = of('0b0c8c5e-7a52-4b5e-9c1e-2f0a8e1d0002', JSON.stringify({ v: 1, ...messageOf(record) }));
  const away = { ...system.deps.records, read: () => Promise.reject(new Error('no answer')) };
  expect(await handle({ ...system.deps, records: away }, unreadable, readable)).toEqual({
    batchItemFailures: [{ itemIdentifier: readable.messageId }],
  });
  expect(await handle(system.deps, unreadable, readable)).toEqual({ batchItemFailures: [] });
  const { letters } = await deadLetters(system.deps, { limit: 10 });
  expect(letters).toMatchObject([
    {
      kind: 'unreadable',
      message: { id: unreadable.messageId, body: unreadable.body, queue: 'weir-main-work-p-dead' },
    },
  ]);
  expect(await system.deps.records.read(record)).toMatchObject({ burials: 1 });
});
