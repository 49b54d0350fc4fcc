import { describe, expect, test } from 'vitest';
import { addMs, toEpochMs } from '../../../lib/domain/time.ts';
import { newTaskId } from '../../support/gate.ts';
import { openRecords, taskRecord } from '../../support/records.ts';

const now = toEpochMs(Date.now());
const end = { finishedAt: now, callbackUrl: undefined };
const soon = { deadline: addMs(now, 10_000) };
const started = { startedAt: now, deadline: addMs(now, 60_000), dueAt: addMs(now, 15_000), epoch: 1 };

describe('create', () => {
  test('what is read is what was written', async () => {
    const { records } = await openRecords();
    const file = {
      field: 'document',
      name: 'ü.pdf',
      mediaType: 'application/pdf',
      size: 3,
      sha256: 'a'.repeat(64),
      key: 'inputs/x',
    };
    const record = taskRecord({ input: '{"a":9007199254740991}', files: [file] });
    expect(await records.create(record, soon)).toEqual({ kind: 'created' });
    expect(await records.read(record)).toEqual(record);
    expect(await records.readDedup(record.dedupKey)).toMatchObject({
      taskId: record.id,
      fingerprint: record.fingerprint,
    });
  });

  test('twenty at once on one dedup key: one is created, the others are told its id', async () => {
    const { records } = await openRecords();
    const tasks = Array.from({ length: 20 }, () => taskRecord({ dedupKey: 'D#t#f#same' }));
    const created = await Promise.all(tasks.map((record) => records.create(record, soon)));
    const winner = tasks[created.findIndex(({ kind }) => kind === 'created')];
    expect(created.filter(({ kind }) => kind === 'created')).toHaveLength(1);
    expect(created.filter((each) => each.kind === 'taken' && each.taskId === winner?.id)).toHaveLength(19);
    expect(await Promise.all(tasks.map((record) => records.read(record)))).toHaveLength(20);
  });

  test('repeated after a lost reply it is still created once', async () => {
    const { records } = await openRecords();
    const record = taskRecord();
    expect(await records.create(record, soon)).toEqual({ kind: 'created' });
    expect(await records.create(record, soon)).toEqual({ kind: 'created' });
  });

  test('a place is taken only from the task the caller saw', async () => {
    const { records } = await openRecords();
    const [old, other] = [taskRecord({ dedupKey: 'D#t#f#k' }), taskRecord({ dedupKey: 'D#t#f#k' })];
    await records.create(old, soon);
    expect(await records.create(other, { ...soon, seen: newTaskId() })).toMatchObject({
      kind: 'taken',
      taskId: old.id,
    });
    expect(await records.read(other)).toBeUndefined();
    expect(await records.create(other, { ...soon, seen: old.id })).toEqual({ kind: 'created' });
  });

  test('an expired record and its dedup item count as gone, though DynamoDB has not deleted them', async () => {
    const { records } = await openRecords();
    const old = taskRecord({ dedupKey: 'D#t#f#k', createdAt: addMs(now, -60_000), expiresAt: addMs(now, -1) });
    await records.create(old, soon);
    expect(await records.read(old)).toBeUndefined();
    expect(await records.readDedup(old.dedupKey)).toBeUndefined();
    expect(await records.create(taskRecord({ dedupKey: 'D#t#f#k' }), soon)).toEqual({ kind: 'created' });
  });

  test('a wrong request is thrown at once, not repeated until the deadline', async () => {
    const { records } = await openRecords();
    const begun = performance.now();
    await expect(records.create(taskRecord({ input: 'x'.repeat(450_000) }), soon)).rejects.toThrow(/size/i);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});

describe('an attempt', () => {
  async function running() {
    const { records } = await openRecords();
    const record = taskRecord();
    await records.create(record, soon);
    const key = { tenant: record.tenant, id: record.id, attempt: 1, holder: 'first' };
    return { records, record, key, written: await records.start(key, started) };
  }

  test('starts once, however many try', async () => {
    const { records } = await openRecords();
    const record = taskRecord();
    await records.create(record, soon);
    const holders = Array.from({ length: 20 }, (_, n) => `h${n}`);
    const writes = await Promise.all(
      holders.map((holder) => records.start({ ...record, attempt: 1, holder }, started)),
    );
    expect(writes.filter(({ kind }) => kind === 'written')).toHaveLength(1);
  });

  test('finds its own write after a lost reply', async () => {
    const { records, key, written } = await running();
    expect(await records.start(key, started)).toEqual(written);
    const done = await records.finish(key, { kind: 'succeeded', result: '1' }, end);
    expect(await records.finish(key, { kind: 'succeeded', result: '1' }, end)).toEqual(done);
  });

  test('that went back to the queue finds its own write after a lost reply, and does not take another’s for it', async () => {
    const { records, key, record } = await running();
    const again = { runAt: addMs(now, 5_000), deadline: record.deadline };
    const back = await records.requeue(key, 'failed', again);
    expect(await records.requeue(key, 'failed', again)).toEqual(back);
    expect(await records.requeue(key, 'lost', { ...again, runAt: now })).toMatchObject({ kind: 'refused' });
    expect(await records.read(record)).toMatchObject({ failures: 1, lostLeases: 0, runAt: again.runAt });
  });

  test('of an older number or another holder is refused every write', async () => {
    const { records, key, record } = await running();
    await records.requeue(key, 'lost', { runAt: now, deadline: record.deadline });
    const next = { ...key, attempt: 2, holder: 'second' };
    await records.start(next, started);
    for (const old of [key, { ...next, holder: 'first' }, { ...key, holder: 'second' }]) {
      expect(await records.progress(old, { percent: 1 })).toMatchObject({ kind: 'refused', record: { attempt: 2 } });
      expect(await records.finish(old, { kind: 'succeeded', result: '0' }, end)).toMatchObject({ kind: 'refused' });
      expect(await records.requeue(old, 'failed', { runAt: now, deadline: now })).toMatchObject({ kind: 'refused' });
    }
    expect(await records.finish(next, { kind: 'succeeded', result: '2' }, end)).toMatchObject({ kind: 'written' });
  });

  test('a terminal record never changes', async () => {
    const { records, key, record } = await running();
    await records.finish(key, { kind: 'failed', error: { code: 'x', message: 'y' }, dead: true }, end);
    const before = await records.read(record);
    await records.finish(key, { kind: 'succeeded', result: '1' }, end);
    await records.requeue(key, 'failed', { runAt: now, deadline: now });
    await records.start({ ...key, attempt: 2 }, started);
    await records.expire(record, end);
    await records.setDue(record, now);
    await records.markSent(record, 1, now);
    await records.countSend(record, 1);
    await records.postpone(key, now);
    expect(await records.read(record)).toEqual(before);
  });

  test('failures and lost leases are counted apart', async () => {
    const { records, key, record } = await running();
    await records.requeue(key, 'failed', { runAt: now, deadline: record.deadline });
    const next = { ...key, attempt: 2 };
    await records.start(next, started);
    await records.requeue(next, 'lost', { runAt: now, deadline: record.deadline });
    expect(await records.read(record)).toMatchObject({
      status: 'queued',
      attempt: 2,
      failures: 1,
      lostLeases: 1,
      runAt: now,
    });
  });
});

describe('the index of open tasks', () => {
  test('pages to the end, holds what is due and nothing that ended', async () => {
    const { records } = await openRecords();
    const open = Array.from({ length: 120 }, () => taskRecord({ id: sameShardId() }));
    const current = toEpochMs(Date.now());
    const future = taskRecord({ dueAt: addMs(current, 60_000) });
    const ended = taskRecord();
    await Promise.all([...open, future, ended].map((record) => records.create(record, soon)));
    await records.expire(ended, end);
    const found: string[] = [];
    for (let shard = 0; shard < records.shards; shard++) {
      let cursor: Awaited<ReturnType<typeof records.due>>['cursor'];
      do {
        const page = await records.due(shard, addMs(current, 1_000), cursor);
        found.push(...page.keys.map(({ id }) => id));
        cursor = page.cursor;
      } while (cursor !== undefined);
    }
    expect(found.sort()).toEqual(open.map(({ id }) => id).sort());
  });

  test('a send is counted once, whoever else counts', async () => {
    const { records } = await openRecords();
    const record = taskRecord();
    await records.create(record, soon);
    const counted = await Promise.all(Array.from({ length: 5 }, () => records.countSend(record, 1)));
    expect(counted.filter(({ kind }) => kind === 'written')).toHaveLength(1);
    await records.markSent(record, 1, addMs(now, 1));
    expect(await records.read(record)).toMatchObject({ sends: 2, dueAt: record.dueAt });
  });
});

function sameShardId() {
  for (;;) {
    const id = newTaskId();
    if (Number.parseInt(id.slice(-4), 16) % 4 === 0) return id;
  }
}

describe('the last write', () => {
  test.each([undefined, 'https://example.com/hook'])(
    'stands against a cancel, with callback %s',
    async (callbackUrl) => {
      const { records } = await openRecords();
      const record = taskRecord({ callbackUrl });
      await records.create(record, soon);
      const end = { finishedAt: now, callbackUrl };
      const expired = await records.expire(record, end);
      expect(expired).toMatchObject({ kind: 'written', record: { status: 'expired' } });
      expect(expired.record?.delivery).toEqual(callbackUrl && { status: 'pending', attempts: 0 });
      expect(await records.cancel(record, end, now)).toMatchObject({ kind: 'refused', record: { status: 'expired' } });
      expect(await records.giveUp(record, { code: 'x', message: 'y' }, end)).toMatchObject({ kind: 'refused' });
      const open = await Promise.all([0, 1, 2, 3].map((shard) => records.open(shard)));
      expect(open.flatMap(({ keys }) => keys)).toHaveLength(callbackUrl === undefined ? 0 : 1);
    },
  );

  test('a burial counts from the number it saw', async () => {
    const { records } = await openRecords();
    const record = taskRecord();
    await records.create(record, soon);
    expect(await records.bury(record, 1, now)).toMatchObject({ kind: 'written', record: { burials: 1 } });
    // The same once more, and another. Of ten at once nobody could tell which is the repeat after a lost reply: it is told that it counted already.
    expect(await records.bury(record, 1, now)).toMatchObject({
      kind: 'refused',
      record: { burials: 1, buriedSend: 1 },
    });
    expect(await records.bury(record, 2, now)).toMatchObject({ kind: 'refused', record: { burials: 1 } });
  });
});
