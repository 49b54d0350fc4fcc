import { describe, expect, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { work } from '../../lib/operations/work.ts';
import { cancelAtRandom } from '../support/cancels.ts';
import { diesAt } from '../support/crash.ts';
import { accept, drain, heldLeases, later, openSystem, post, take } from '../support/deps.ts';
import { withHeart } from '../support/heart.ts';

const aLeaseMs = 10_000;

describe('a queued task', () => {
  test('is cancelled once, its seat goes in the same call, its message starts nothing, and the same request is admitted anew', async () => {
    let runs = 0;
    const system = await openSystem({ pool: { running: 1, pending: 0 }, run: async () => ++runs });
    const record = await accept(system);
    expect((await admit(system.deps, post(system, { other: 1 }))).kind).toBe('rejected');
    const cancelled = await cancel(system.deps, record);
    expect(cancelled).toMatchObject({ kind: 'cancelled', record: { status: 'cancelled', attempt: 0 } });
    expect(await heldLeases(system)).toEqual([]);
    expect(await cancel(system.deps, record)).toMatchObject({ kind: 'cancelled' });
    expect(await drain(system)).toEqual([{ kind: 'ack', because: 'cancelled' }]);
    expect(runs).toBe(0);
    expect((await accept(system)).id).not.toBe(record.id);
  });

  test('leaves the open tasks at once, or where its seat was not given back once a lease has passed', async () => {
    const system = await openSystem();
    const open = async () =>
      (await Promise.all([0, 1, 2, 3].map((at) => system.deps.records.open(at)))).flatMap((page) => page.keys);
    await cancel(system.deps, await accept(system));
    expect(await open()).toEqual([]);
    const record = await accept(system);
    const away = { ...system.deps.gate, release: () => Promise.reject(new Error('no answer')) };
    await cancel({ ...system.deps, gate: away }, record);
    expect(await open()).toHaveLength(1);
    expect(await reconcile(system.deps)).toMatchObject({ closed: 0 });
    expect(await reconcile(later(system, aLeaseMs))).toMatchObject({ closed: 1, sent: 0 });
    expect(await open()).toEqual([]);
    expect(await heldLeases(system)).toEqual([]);
  });

  test('whose cancel died before it gave the seat back is asked again, and has it back', async () => {
    const system = await openSystem();
    const record = await accept(system);
    const away = { ...system.deps.gate, release: () => Promise.reject(new Error('no answer')) };
    await cancel({ ...system.deps, gate: away }, record);
    expect(await heldLeases(system)).not.toEqual([]);
    expect(await cancel(system.deps, record)).toMatchObject({ kind: 'cancelled' });
    expect(await heldLeases(system)).toEqual([]);
  });
});

describe('a running task', () => {
  test('is aborted at its next heartbeat; its slot stays until the handler has stopped, and its end is refused and counted', async () => {
    let aborted = false;
    const system = await openSystem({
      run: ({ ctx }) =>
        new Promise((resolve) => {
          ctx.signal.addEventListener('abort', () => {
            aborted = true;
            setTimeout(() => resolve('too late'), 50);
          });
        }),
    });
    const record = await accept(system);
    const { pool, delivery } = await take(system);
    const working = work(system.deps, pool, delivery);
    await expect.poll(async () => (await system.deps.records.read(record))?.status).toBe('running');
    expect(await cancel(system.deps, record)).toMatchObject({ kind: 'cancelled', record: { attempt: 1 } });
    expect((await heldLeases(system)).filter((key) => key.startsWith('slots'))).not.toEqual([]);
    expect((await heldLeases(system)).filter((key) => key.startsWith('seats'))).toEqual([]);
    await working;
    expect(aborted).toBe(true);
    expect(system.counted).toContain('late_writes_total 1 finish');
    expect(await system.deps.records.read(record)).toMatchObject({ status: 'cancelled', revision: 3 });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('finished first, it stays as it is', async () => {
    const system = await openSystem({ run: async () => 'done' });
    const record = await accept(system);
    await drain(system);
    const before = await system.deps.records.read(record);
    expect(await cancel(system.deps, record)).toMatchObject({ kind: 'finished', record: { status: 'succeeded' } });
    expect(await system.deps.records.read(record)).toEqual(before);
  });
});

test('nobody cancels what is not his, or not there', async () => {
  const system = await openSystem();
  const record = await accept(system);
  expect(await cancel(system.deps, { ...record, tenant: 'other' })).toEqual({ kind: 'absent' });
  expect(await system.deps.records.read(record)).toMatchObject({ status: 'queued' });
});

test('cancels at random moments around start and end: one outcome each, no handler runs a heartbeat later, nothing stays held', async () => {
  const { cancelled, finished } = await cancelAtRandom(60);
  expect(Math.min(cancelled, finished)).toBeGreaterThan(0);
});

test.each(['before', 'after'] as const)(
  'a cancel that dies %s any of its calls: done or not, and the next one, or reconcile, ends it',
  async (when) => {
    for (let at = 1, died = true; died; at++) {
      const system = await openSystem();
      const record = await accept(system);
      died = await diesAt(system.deps, at, when, (deps) => cancel(deps, record));
      expect((await cancel(system.deps, record)).kind).toBe('cancelled');
      await reconcile(later(system, aLeaseMs));
      expect(await heldLeases(system)).toEqual([]);
    }
  },
);

test('where the seat was not given back, reconcile does it, and the handler that runs hears of the cancel at its next heartbeat', async () => {
  const system = await openSystem({
    run: ({ ctx }) => new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve('stopped'))),
  });
  const record = await accept(system);
  const { pool, delivery } = await take(system);
  const working = work(withHeart(system.deps), pool, delivery);
  await expect.poll(async () => (await system.deps.records.read(record))?.status).toBe('running');
  const away = { ...system.deps.gate, release: () => Promise.reject(new Error('no answer')) };
  await cancel({ ...system.deps, gate: away }, record);
  expect(await reconcile(later(system, aLeaseMs))).toMatchObject({ alive: 1 });
  await working;
  expect(await heldLeases(system)).toEqual([]);
});
