import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import type { TaskId } from '../../lib/domain/task-id.ts';
import type { Admission } from '../../lib/operations/admission.ts';
import { admit } from '../../lib/operations/admit.ts';
import { expire } from '../../lib/operations/expire.ts';
import { crashing } from '../support/crash.ts';
import { deleteKeys, drain, heldLeases, openSystem, post, type System } from '../support/deps.ts';
import { dumpCell } from '../support/gate.ts';
import { asPart } from '../support/uploads.ts';

const file = (text: string) => asPart(Buffer.from(text), 'a.txt');

function idOf(admission: Admission): TaskId {
  if ('record' in admission) return admission.record.id;
  throw new Error(`expected a task, got ${JSON.stringify(admission)}`);
}

async function stored({ deps }: System, id: TaskId) {
  return deps.records.read({ tenant: 't', id });
}

describe('duplicates', () => {
  test('twenty of one body at once: one id, one record, one message, one run', async () => {
    let runs = 0;
    const system = await openSystem({ run: async () => ++runs });
    const admissions = await Promise.all(
      Array.from({ length: 20 }, () => admit(system.deps, post(system, { a: 1 }, { file: file('x') }))),
    );
    expect(new Set(admissions.map(idOf)).size).toBe(1);
    expect(admissions.filter(({ kind }) => kind === 'admitted')).toHaveLength(1);
    expect(await drain(system)).toEqual([{ kind: 'ack', because: 'succeeded' }]);
    expect(runs).toBe(1);
    expect(await stored(system, idOf(admissions[0] as Admission))).toMatchObject({
      status: 'succeeded',
      result: '1',
      attempt: 1,
    });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('a changed byte in a file is another task', async () => {
    const system = await openSystem();
    const one = await admit(system.deps, post(system, {}, { file: file('x') }));
    const other = await admit(system.deps, post(system, {}, { file: file('y') }));
    expect(idOf(other)).not.toBe(idOf(one));
  });

  test('a success answers until its window is over, then the body is a new task', async () => {
    const system = await openSystem({ task: { dedup: { windowMs: 1_500 } } });
    const first = await admit(system.deps, post(system, {}));
    await drain(system);
    const again = await admit(system.deps, post(system, {}));
    expect(again).toMatchObject({ kind: 'reused', record: { id: idOf(first), status: 'succeeded' } });
    await expect
      .poll(() => admit(system.deps, post(system, {})), { timeout: 5_000 })
      .toMatchObject({ kind: 'admitted' });
  });

  test.each(['failed', 'expired'] as const)('a task that %s never answers for another', async (end) => {
    const system = await openSystem();
    const first = await admit(system.deps, post(system, {}));
    const id = idOf(first);
    if (end === 'expired') await expire(system.deps, await open(system, id));
    else await failTask(system, id);
    const again = await admit(system.deps, post(system, {}));
    expect(again.kind).toBe('admitted');
    expect(idOf(again)).not.toBe(id);
  });

  test('twenty at once in the place of a failed task: one of them', async () => {
    const system = await openSystem();
    await failTask(system, idOf(await admit(system.deps, post(system, {}))));
    const again = await Promise.all(Array.from({ length: 20 }, () => admit(system.deps, post(system, {}))));
    expect(new Set(again.map(idOf)).size).toBe(1);
  });

  test('when Redis forgot, DynamoDB still names the task and the new seat goes back', async () => {
    const system = await openSystem();
    const first = await admit(system.deps, post(system, {}));
    await forgetLocks(system);
    const before = await dumpCell(system.connection, system.stage);
    expect(await admit(system.deps, post(system, {}))).toMatchObject({ kind: 'joined', record: { id: idOf(first) } });
    expect(await dumpCell(system.connection, system.stage)).toBe(before);
  });

  test('an identical post to a full pool gets its task', async () => {
    const system = await openSystem({ pool: { running: 1, pending: 0 } });
    const first = await admit(system.deps, post(system, { n: 1 }));
    expect(await admit(system.deps, post(system, { n: 2 }))).toMatchObject({ kind: 'rejected', short: 0 });
    expect(idOf(await admit(system.deps, post(system, { n: 1 })))).toBe(idOf(first));
    await forgetLocks(system);
    expect(idOf(await admit(system.deps, post(system, { n: 1 })))).toBe(idOf(first));
  });

  test('an Idempotency-Key names the request: same body joins, another is refused, and other tenants are strangers', async () => {
    const system = await openSystem();
    const key = { idempotencyKey: 'k' };
    const first = await admit(system.deps, post(system, { n: 1 }, key));
    expect(idOf(await admit(system.deps, post(system, { n: 1 }, key)))).toBe(idOf(first));
    expect(await admit(system.deps, post(system, { n: 2 }, key))).toEqual({ kind: 'key_reused' });
    await forgetLocks(system);
    expect(await admit(system.deps, post(system, { n: 2 }, key))).toEqual({ kind: 'key_reused' });
    expect(await admit(system.deps, post(system, { n: 1 }, { ...key, tenant: 'u' }))).toMatchObject({
      kind: 'admitted',
    });
    expect(idOf(await admit(system.deps, post(system, { n: 1 }))) === idOf(first)).toBe(false);
  });
});

describe('a creation under way', () => {
  test('is waited for: the second request gets the task once its record is there', async () => {
    const system = await openSystem();
    const slow: System['deps']['records']['create'] = async (record, options) => {
      await system.deps.clock.sleep(500);
      return system.deps.records.create(record, options);
    };
    const creating = admit({ ...system.deps, records: { ...system.deps.records, create: slow } }, post(system, {}));
    await expect.poll(() => dumpCell(system.connection, system.stage)).toContain(':lock:');
    expect(await admit(system.deps, post(system, {}))).toMatchObject({
      kind: 'joined',
      record: { id: idOf(await creating) },
    });
  });

  test('whose task fails between two looks frees its place: nobody polls a dead task to the end', async () => {
    const system = await openSystem();
    const slow: System['deps']['records']['create'] = async (record, options) => {
      const created = await system.deps.records.create(record, options);
      await failTask(system, record.id);
      await system.deps.clock.sleep(1_000);
      return created;
    };
    const creating = admit({ ...system.deps, records: { ...system.deps.records, create: slow } }, post(system, {}));
    await expect.poll(() => dumpCell(system.connection, system.stage)).toContain(':lock:');
    const again = await admit(system.deps, post(system, {}));
    expect(again.kind).toBe('admitted');
    expect(idOf(again)).not.toBe(idOf(await creating));
  });

  test('that takes too long is answered as such, and leaves nothing of the second request', async () => {
    const system = await openSystem();
    const task = post(system, {});
    const never = { ...system.deps.records, create: () => new Promise<never>(() => undefined) };
    void admit({ ...system.deps, records: never }, task);
    await expect.poll(() => dumpCell(system.connection, system.stage)).toContain(':lock:');
    const before = await dumpCell(system.connection, system.stage);
    expect(await admit(system.deps, task)).toEqual({ kind: 'creating' });
    expect(await dumpCell(system.connection, system.stage)).toBe(before);
  });

  test('that is refused for good gives its seat and lock back', async () => {
    const system = await openSystem();
    const before = await dumpCell(system.connection, system.stage);
    const broken = { ...system.deps.records, create: () => Promise.reject(new Error('item too large')) };
    await expect(admit({ ...system.deps, records: broken }, post(system, {}, { file: file('x') }))).rejects.toThrow(
      'item too large',
    );
    expect(await dumpCell(system.connection, system.stage)).toBe(before);
    expect(await system.objects()).toEqual([]);
  });
});

test('an api may name the input fields that make requests identical; files always count', async () => {
  const system = await openSystem({ task: { dedup: { fields: ['a'] } } });
  const one = await admit(system.deps, post(system, { a: 1, note: 'x' }));
  expect(await admit(system.deps, post(system, { a: 1, note: 'y' }))).toMatchObject({
    kind: 'joined',
    record: { id: idOf(one) },
  });
  expect(await admit(system.deps, post(system, { a: 2, note: 'x' }))).toMatchObject({ kind: 'admitted' });
  expect(await admit(system.deps, post(system, { a: 1 }, { file: file('x') }))).toMatchObject({ kind: 'admitted' });
});

describe('limits', () => {
  test('two hundred different posts against a cold store: exactly the limit', async () => {
    const system = await openSystem({ pool: { running: 2, pending: 5 }, epoch: null });
    const admissions = await Promise.all(
      Array.from({ length: 200 }, (_, n) => admit(system.deps, post(system, { n }))),
    );
    expect(admissions.filter(({ kind }) => kind === 'admitted')).toHaveLength(7);
    expect(admissions.filter(({ kind }) => kind === 'rejected')).toHaveLength(193);
  });

  test('one address may hold two, another still enters', async () => {
    const system = await openSystem({ ip: { inSystem: 2 } });
    const kinds = [];
    for (let n = 0; n < 3; n++) kinds.push((await admit(system.deps, post(system, { n }))).kind);
    expect(kinds).toEqual(['admitted', 'admitted', 'rejected']);
    expect(await admit(system.deps, post(system, { n: 9 }, { ip: '192.0.2.2' }))).toMatchObject({ kind: 'admitted' });
  });

  test('a full pool refuses a large body before it is read', async () => {
    const system = await openSystem({ pool: { running: 0, pending: 0 } });
    const unread = { kind: 'unread' as const, read: () => Promise.reject(new Error('the body was read')) };
    expect(await admit(system.deps, post(system, {}, { submission: unread }))).toMatchObject({ kind: 'rejected' });
  });

  test('a refusal leaves no key, record or object', async () => {
    const system = await openSystem({ pool: { running: 0, pending: 0 } });
    const before = await dumpCell(system.connection, system.stage);
    await admit(system.deps, post(system, {}, { file: file('x') }));
    expect(await dumpCell(system.connection, system.stage)).toBe(before);
    expect(await system.objects()).toEqual([]);
    expect((await system.client.send(new ScanCommand({ TableName: system.table }))).Count).toBe(0);
  });
});

describe('a request that dies at any call', () => {
  test.each(['before', 'after'] as const)(
    '%s it: the same body ends in one task, one success, and nothing stays held',
    async (when) => {
      const probe = await openSystem();
      const counted = crashing(probe.deps, 1_000, when);
      await admit(counted.deps, post(probe, {}, { file: file('x') }));
      expect(counted.calls()).toBeGreaterThanOrEqual(6);
      for (let at = 1; at <= counted.calls(); at++) {
        const system = await openSystem({ pool: { running: 1, pending: 0 } });
        const { deps } = crashing(system.deps, at, when);
        await admit(deps, post(system, {}, { file: file('x') })).catch(() => undefined);
        // The lock of a creation that never came lapses after ten seconds; here it is made to, and so is the seat.
        await lapseCreation(system);
        const again = await admit(system.deps, post(system, {}, { file: file('x') }));
        const id = idOf(again);
        await system.deps.messages.send('p', { tenant: 't', id, send: 1 }, 'g');
        await drain(system);
        expect(await stored(system, id), `died ${when} call ${at}`).toMatchObject({ status: 'succeeded', attempt: 1 });
        expect(await heldLeases(system), `died ${when} call ${at}`).toEqual([]);
      }
    },
    120_000,
  );
});

async function open(system: System, id: TaskId) {
  const record = await stored(system, id);
  if (record === undefined) throw new Error(`expected task ${id}`);
  return record;
}

async function failTask({ deps }: System, id: TaskId): Promise<void> {
  const key = { tenant: 't', id, attempt: 1, holder: 'h' };
  const now = deps.clock.now();
  await deps.records.start(key, { startedAt: now, deadline: now, dueAt: now, epoch: 1 });
  const error = { code: 'x', message: 'x' };
  await deps.records.finish(key, { kind: 'failed', error, dead: false }, { finishedAt: now, callbackUrl: undefined });
}

async function forgetLocks(system: System): Promise<void> {
  await deleteKeys(system, /^lock:/);
}

async function lapseCreation(system: System): Promise<void> {
  const { Count = 0 } = await system.client.send(new ScanCommand({ TableName: system.table }));
  if (Count === 0) await deleteKeys(system, /^(lock|seats):/);
}
