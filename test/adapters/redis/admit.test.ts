import { expect, test } from 'vitest';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import { toEpochMs } from '../../../lib/domain/time.ts';
import { ask, dumpCell, laterThanServer, newTaskId, openGate, tiersFor } from '../../support/gate.ts';

const limits = { pools: { p: { running: 1, inSystem: 2 } }, apis: { 'g/a': { inSystem: 5 } }, ip: { inSystem: 1 } };

test('admits up to the limit and says what every tier holds', async () => {
  const { gate } = await openGate({ pools: { p: { running: 1, inSystem: 2 } } });
  expect((await gate.admit(ask())).kind).toBe('admitted');
  const second = await gate.admit(ask());
  expect(second).toMatchObject({ kind: 'admitted', epoch: 1, limitsVersion: 0 });
  expect(second.kind === 'admitted' && second.tiers).toEqual([
    { tier: 'pool', name: 'p', inSystem: { inUse: 2, limit: 2 }, running: { inUse: 0, limit: 1 } },
    { tier: 'api', name: 'g/a', inSystem: { inUse: 2 }, running: { inUse: 0 } },
    { tier: 'tenant', name: 't', inSystem: { inUse: 2 }, running: { inUse: 0 } },
    { tier: 'ip', name: '192.0.2.1', inSystem: { inUse: 2 }, running: { inUse: 0 } },
  ]);
  expect(await gate.admit(ask())).toMatchObject({ kind: 'rejected', short: 0 });
});

test('takes nothing anywhere when one tier is full', async () => {
  const { gate, connection, stage } = await openGate(limits);
  await gate.admit(ask());
  const before = await dumpCell(connection, stage);
  expect(await gate.admit(ask())).toMatchObject({ kind: 'rejected', short: 3 });
  expect(await dumpCell(connection, stage)).toBe(before);
});

test.each([0, 1, 2, 7])('two hundred at once against a limit of %i admit exactly that many', async (inSystem) => {
  const { gate } = await openGate({ pools: { p: { inSystem } } });
  const replies = await Promise.all(Array.from({ length: 200 }, () => gate.admit(ask())));
  expect(replies.filter(({ kind }) => kind === 'admitted')).toHaveLength(inSystem);
  expect(replies.filter(({ kind }) => kind === 'rejected')).toHaveLength(200 - inSystem);
});

test('a hundred of one dedup key at once: one is admitted, the others are told its id', async () => {
  const { gate } = await openGate({});
  const dedupKey = 'D#t#f#same';
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => gate.admit(ask({ dedupKey, fingerprint: 'sha256:x' }))),
  );
  expect(replies.filter(({ kind }) => kind === 'admitted')).toHaveLength(1);
  const named = new Set(replies.map((reply) => (reply.kind === 'duplicate' ? reply.taskId : 'winner')));
  expect(named.size).toBe(2);
});

test('sent twice it charges once and answers the same deadline', async () => {
  const { gate } = await openGate({ pools: { p: { inSystem: 1 } } });
  const same = ask();
  const first = await gate.admit(same);
  const again = await gate.admit(same);
  expect(again).toEqual(first.kind === 'admitted' ? { ...first, now: again.kind === 'admitted' ? again.now : 0 } : {});
});

test('a task that takes the place of an ended one needs no second seat', async () => {
  const { gate } = await openGate({ pools: { p: { inSystem: 1 } } });
  const old = ask({ dedupKey: 'D#t#f#k' });
  await gate.admit(old);
  await gate.confirm(old);
  const fresh = ask({ dedupKey: 'D#t#f#k' });
  expect(await gate.admit(fresh)).toMatchObject({ kind: 'duplicate', creating: false, taskId: old.id });
  expect(await gate.admit({ ...fresh, replaces: old.id })).toMatchObject({ kind: 'admitted' });
  expect(await gate.admit({ ...fresh, id: newTaskId(), replaces: old.id })).toMatchObject({
    kind: 'duplicate',
    taskId: fresh.id,
  });
});

test('without an epoch nothing is decided', async () => {
  const { gate, connection, stage } = await openGate({}, { epoch: null });
  expect(await gate.admit(ask())).toEqual({ kind: 'rebuilding' });
  expect(await gate.peek({ dedupKey: undefined, tiers: tiersFor() })).toEqual({ kind: 'rebuilding' });
  expect(await dumpCell(connection, stage)).toBe('');
});

test('more permits than a configured running limit can never be held', async () => {
  const { gate } = await openGate({ pools: { p: { running: 2, inSystem: 9 } } });
  expect(await gate.admit(ask({ permits: 3 }))).toEqual({ kind: 'never', tier: 0, limit: 2 });
  expect(await gate.admit(ask({ permits: 2 }))).toMatchObject({ kind: 'admitted' });
});

test('a seat counts until the moment it lapses and not from that moment on', async () => {
  let now = laterThanServer();
  const { gate } = await openGate({ pools: { p: { inSystem: 1 } } }, { now: () => now, startWindowMs: 60_000 });
  const first = await gate.admit(ask());
  const lapses = first.kind === 'admitted' ? first.deadline : now;
  now = toEpochMs(lapses - 1);
  expect(await gate.admit(ask())).toMatchObject({ kind: 'rejected' });
  expect(await gate.peek({ dedupKey: undefined, tiers: tiersFor() })).toMatchObject({ kind: 'full', short: 0 });
  now = lapses;
  expect(await gate.peek({ dedupKey: undefined, tiers: tiersFor() })).toMatchObject({ kind: 'open' });
  expect(await gate.admit(ask())).toMatchObject({ kind: 'admitted' });
});

test('with more lapsed seats than one sweep drops, the count is still exact', async () => {
  let now = laterThanServer();
  const { gate } = await openGate({ pools: { p: { inSystem: 250 } } }, { now: () => now, startWindowMs: 60_000 });
  await Promise.all(Array.from({ length: 250 }, () => gate.admit(ask())));
  now = toEpochMs(now + 60_000);
  const replies = await Promise.all(Array.from({ length: 251 }, () => gate.admit(ask())));
  expect(replies.filter(({ kind }) => kind === 'admitted')).toHaveLength(250);
});

test('arguments are checked before anything is written', async () => {
  const { gate, connection, stage } = await openGate({});
  const before = await dumpCell(connection, stage);
  await expect(gate.admit(ask({ permits: 0 }))).rejects.toThrow('BADARG permits');
  await expect(gate.admit(ask({ tenant: 'x'.repeat(300) }))).rejects.toThrow('BADARG member');
  expect(await dumpCell(connection, stage)).toBe(before);
});

test('past the moment its caller gives up, it takes nothing', async () => {
  let now = laterThanServer();
  const { gate, connection, stage } = await openGate({}, { now: () => now });
  const before = await dumpCell(connection, stage);
  const notAfter = now;
  now = toEpochMs(now + 1);
  expect(await gate.admit(ask({ notAfter }))).toEqual({ kind: 'stale' });
  expect(await dumpCell(connection, stage)).toBe(before);
  expect(await gate.admit(ask({ notAfter: now }))).toMatchObject({ kind: 'admitted' });
});

test('a pointer is never written over another task', async () => {
  const { gate } = await openGate({});
  const first = ask({ dedupKey: 'D#t#f#k' });
  await gate.admit(first);
  expect(await gate.confirm({ ...first, id: newTaskId() })).toEqual({ kind: 'other', taskId: first.id });
  expect(await gate.confirm(first)).toEqual({ kind: 'confirmed' });
});

test("a client's set has an expiry also where the replaced task's lapsed seat was the last in it", async () => {
  let now = laterThanServer();
  const options = { now: () => now, startWindowMs: 60_000 };
  const { gate, connection, stage } = await openGate({ ip: { inSystem: 101 } }, options);
  await Promise.all(Array.from({ length: 100 }, () => gate.admit(ask())));
  now = toEpochMs(now + 1);
  const old = ask({ dedupKey: 'D#t#f#k' });
  await gate.admit(old);
  now = toEpochMs(now + 60_000);
  const admitted = await gate.admit(ask({ dedupKey: 'D#t#f#k', replaces: old.id }));
  expect(admitted.kind === 'admitted' && admitted.tiers[3]?.inSystem).toEqual({ inUse: 1, limit: 101 });
  const key = cellKeys(stage).seats({ tier: 'ip', name: '192.0.2.1' });
  expect(await connection.call('expiry', (client) => client.pexpiretime(key))).toBe(now + 60_000);
});
