import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { addMs, type EpochMs, toEpochMs } from '../../../lib/domain/time.ts';
import type { Gate } from '../../../lib/ports.ts';
import { ask, dumpCell, laterThanServer, newTaskId, openGate, tiersFor } from '../../support/gate.ts';

const leaseMs = 15_000;

function acquiring(over: Partial<Parameters<Gate['acquire']>[0]> = {}): Parameters<Gate['acquire']>[0] {
  const base = { tenant: 't', id: newTaskId(), tiers: tiersFor(), permits: 1 };
  const deadline = toEpochMs(Date.now() + 20 * 3_600_000);
  return { ...base, nonce: randomUUID(), leaseMs, deadline, attempt: 1, seatMs: 600_000, epoch: 1, ...over };
}

async function clocked(limits: Parameters<typeof openGate>[0]) {
  let now = laterThanServer();
  const opened = await openGate(limits, { now: () => now });
  return {
    ...opened,
    at: (moment: EpochMs) => (now = moment),
    pass: (ms: number) => (now = addMs(now, ms)),
    now: () => now,
  };
}

test.each([0, 1, 2, 7])('a hundred attempts at once on %i slots: exactly that many run', async (running) => {
  const { gate } = await openGate({ pools: { p: { running, inSystem: 200 } } });
  const replies = await Promise.all(Array.from({ length: 100 }, () => gate.acquire(acquiring())));
  expect(replies.filter(({ kind }) => kind === 'acquired')).toHaveLength(running);
  expect(replies.find(({ kind }) => kind === 'busy')).toMatchObject({ tier: 0, inUse: running, limit: running });
});

test('permits are slots: three of four leave no room for two', async () => {
  const { gate } = await openGate({ pools: { p: { running: 4, inSystem: 9 } } });
  expect(await gate.acquire(acquiring({ permits: 3 }))).toMatchObject({ kind: 'acquired' });
  expect(await gate.acquire(acquiring({ permits: 2 }))).toMatchObject({ kind: 'busy', inUse: 3, limit: 4 });
  expect(await gate.acquire(acquiring({ permits: 1 }))).toMatchObject({ kind: 'acquired' });
});

test('a narrow tier that is busy takes nothing in the wide ones', async () => {
  const { gate, connection, stage } = await openGate({ pools: { p: { running: 4, inSystem: 9 } }, ip: { running: 1 } });
  await gate.acquire(acquiring());
  const before = await dumpCell(connection, stage);
  expect(await gate.acquire(acquiring())).toMatchObject({ kind: 'busy', tier: 3 });
  expect(await dumpCell(connection, stage)).toBe(before);
});

test('sent twice it takes the slots once; another attempt of the task is told that they are held', async () => {
  const { gate } = await openGate({ pools: { p: { running: 1, inSystem: 9 } } });
  const attempt = acquiring();
  const first = await gate.acquire(attempt);
  expect(await gate.acquire(attempt)).toEqual({ ...first, now: expect.any(Number) });
  expect(await gate.acquire({ ...attempt, nonce: randomUUID() })).toMatchObject({ kind: 'held' });
});

test('at the start deadline it is late, because the seat lapses then', async () => {
  const { gate, now, pass } = await clocked({ pools: { p: { running: 1, inSystem: 9 } } });
  const attempt = acquiring({ deadline: addMs(now(), 1) });
  expect(await gate.acquire({ ...attempt, permits: 2 })).toMatchObject({ kind: 'busy' });
  pass(1);
  expect(await gate.acquire(attempt)).toEqual({ kind: 'late' });
});

test('a nonce is for one lease: asked again after it lapsed, it takes no slots', async () => {
  const { gate, pass } = await clocked({ pools: { p: { running: 1, inSystem: 9 } } });
  const attempt = acquiring();
  await gate.acquire(attempt);
  pass(leaseMs);
  expect(await gate.acquire(attempt)).toMatchObject({ kind: 'held' });
  expect(await gate.acquire(acquiring())).toMatchObject({ kind: 'acquired' });
});

test('a seat that is put back lasts until the start deadline, because the start may never be written', async () => {
  const { gate, now, pass } = await clocked({ pools: { p: { running: 5, inSystem: 1 } } });
  const attempt = acquiring({ deadline: addMs(now(), 500_000), seatMs: 100_000 });
  await gate.acquire(attempt);
  pass(499_999);
  expect(await gate.admit(ask())).toMatchObject({ kind: 'rejected' });
  pass(1);
  expect(await gate.admit(ask())).toMatchObject({ kind: 'admitted' });
});

test('a lease lapses at its moment: then the next attempt has the slot and the old one is refused everything', async () => {
  const { gate, pass } = await clocked({ pools: { p: { running: 1, inSystem: 9 } } });
  const old = acquiring();
  await gate.acquire(old);
  pass(leaseMs - 1);
  expect(await gate.alive(old)).toMatchObject({ kind: 'alive' });
  expect(await gate.acquire(acquiring())).toMatchObject({ kind: 'busy' });
  pass(1);
  expect(await gate.alive(old)).toEqual({ kind: 'gone' });
  expect(await gate.extend(old)).toEqual({ kind: 'lost' });
  const next = { ...old, nonce: randomUUID() };
  expect(await gate.acquire(next)).toMatchObject({ kind: 'acquired' });
  expect(await gate.extend(old)).toEqual({ kind: 'lost' });
  expect(await gate.release({ ...old, dedupKey: 'k' })).toEqual({ kind: 'gone' });
  expect(await gate.alive(next)).toMatchObject({ kind: 'alive' });
  expect(await gate.release({ ...next, dedupKey: 'k' })).toEqual({ kind: 'released' });
  expect(await gate.release({ ...next, dedupKey: 'k' })).toEqual({ kind: 'gone' });
});

test('a heartbeat extends from its own moment', async () => {
  const { gate, pass, now } = await clocked({ pools: { p: { running: 1, inSystem: 9 } } });
  const attempt = acquiring();
  await gate.acquire(attempt);
  pass(10_000);
  expect(await gate.extend(attempt)).toEqual({ kind: 'extended', lapses: now() + leaseMs });
});

test('a heartbeat says when the seat is gone, because the task may have been cancelled', async () => {
  const { gate } = await openGate({ pools: { p: { running: 1, inSystem: 9 } } });
  const attempt = acquiring();
  await gate.acquire(attempt);
  await gate.release({ ...attempt, nonce: undefined, dedupKey: 'k', ended: { pointerMs: 0 } });
  expect(await gate.extend(attempt)).toMatchObject({ kind: 'seatless' });
});

test('release with the end frees the seat and the pointer, but never the pointer of a newer task', async () => {
  const { gate } = await openGate({ pools: { p: { running: 1, inSystem: 1 } } });
  const task = ask({ dedupKey: 'D#t#f#k' });
  await gate.admit(task);
  await gate.confirm(task);
  await gate.release({ ...task, id: newTaskId(), dedupKey: 'D#t#f#k', ended: { pointerMs: 0 } });
  expect(await gate.peek({ dedupKey: 'D#t#f#k', tiers: task.tiers })).toMatchObject({
    kind: 'duplicate',
    taskId: task.id,
  });
  await gate.release({ ...task, ended: { pointerMs: 60_000 } });
  expect(await gate.peek({ dedupKey: 'D#t#f#k', tiers: task.tiers })).toMatchObject({ kind: 'duplicate' });
  await gate.release({ ...task, ended: { pointerMs: 0 } });
  expect(await gate.peek({ dedupKey: 'D#t#f#k', tiers: task.tiers })).toMatchObject({ kind: 'open' });
  expect(await gate.admit(ask())).toMatchObject({ kind: 'admitted' });
});

test('an open record has its seat put back; one of an older epoch only where it fits', async () => {
  const { gate } = await openGate({ pools: { p: { running: 5, inSystem: 1 } } }, { epoch: 2 });
  await gate.admit(ask());
  expect(await gate.acquire(acquiring({ epoch: 1 }))).toMatchObject({ kind: 'unseated', tier: 0, inUse: 1, limit: 1 });
  expect(await gate.acquire(acquiring({ epoch: 2 }))).toMatchObject({ kind: 'acquired' });
  const { tiers } = await gate.observe({ tiers: [{ tier: 'pool', name: 'p' }] });
  expect(tiers[0]).toMatchObject({ inSystem: { inUse: 2 }, running: { inUse: 1 }, tasksRunning: 1 });
});

test('keep only raises a seat and does not make one', async () => {
  const { gate, now, pass } = await clocked({ pools: { p: { running: 1, inSystem: 1 } } });
  const task = ask();
  const admitted = await gate.admit(task);
  const deadline = admitted.kind === 'admitted' ? admitted.deadline : now();
  expect(await gate.keep({ ...task, until: addMs(now(), 1) })).toEqual({ kind: 'kept' });
  expect(await gate.keep({ ...task, until: addMs(deadline, 1) })).toEqual({ kind: 'kept' });
  pass(deadline - now());
  expect(await gate.admit(ask())).toMatchObject({ kind: 'rejected' });
  expect(await gate.keep({ ...ask(), until: deadline })).toEqual({ kind: 'lost' });
});

test('the oldest task that waits is the first seat without a slot', async () => {
  const { gate } = await openGate({ pools: { p: { running: 1, inSystem: 9 } } });
  const [first, second] = [ask(), ask()];
  await gate.admit(first);
  await gate.admit(second);
  await gate.acquire(acquiring({ id: first.id }));
  const { tiers } = await gate.observe({ tiers: [{ tier: 'pool', name: 'p' }] });
  expect(tiers[0]).toMatchObject({ tasksRunning: 1, oldestWaiting: second.id });
});
