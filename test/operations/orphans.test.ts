import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { v7 as uuid7 } from 'uuid';
import { describe, expect, test } from 'vitest';
import { taskKey } from '../../lib/adapters/dynamo/item.ts';
import type { Task } from '../../lib/config.ts';
import { toTaskId } from '../../lib/domain/task-id.ts';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { addMs, hour, minute } from '../../lib/domain/time.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { expire } from '../../lib/operations/expire.ts';
import { dropOrphans } from '../../lib/operations/orphans.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { work } from '../../lib/operations/work.ts';
import { Crashed, diesAt } from '../support/crash.ts';
import { accept, deleteKeys, heldLeases, later, openSystem, type System, take } from '../support/deps.ts';
import { ask, tiersFor } from '../support/gate.ts';
import { taskRecord } from '../support/records.ts';

/** A task whose id was made `ageMs` ago and that holds its seats. */
async function seated({ deps }: System, ageMs: number) {
  const id = toTaskId(uuid7({ msecs: Date.now() - ageMs }));
  const claim = ask({ id, tiers: tiersFor() });
  await deps.gate.admit(claim);
  return taskRecord({ ...claim, dedupKey: claim.dedupKey });
}

test.each(['succeeded', 'failed', 'cancelled', 'expired'] as const)(
  'the seat of a task that %s is given back',
  async (status) => {
    const system = await openSystem();
    const record = await seated(system, hour);
    await system.deps.records.create({ ...record, status }, { deadline: addMs(system.deps.clock.now(), minute) });
    expect(await dropOrphans(system.deps)).toBe(1);
    expect(await heldLeases(system)).toEqual([]);
    expect(await dropOrphans(system.deps)).toBe(0);
  },
);

test('the seat of an open task stays, however old', async () => {
  const system = await openSystem();
  const record = await seated(system, hour);
  await system.deps.records.create(record, { deadline: addMs(system.deps.clock.now(), minute) });
  expect(await dropOrphans(system.deps)).toBe(0);
  expect((await system.deps.gate.observe({ tiers: tiersFor() })).tiers.map(({ inSystem }) => inSystem.inUse)).toEqual([
    1, 1, 1, 1,
  ]);
});

test('a seat without a record is given back once its creation can no longer come, in every tier', async () => {
  const system = await openSystem();
  await seated(system, 4 * minute);
  expect(await dropOrphans(system.deps)).toBe(0);
  await seated(system, 6 * minute);
  expect(await dropOrphans(system.deps)).toBe(1);
  expect((await system.deps.gate.observe({ tiers: tiersFor() })).tiers.map(({ inSystem }) => inSystem.inUse)).toEqual([
    1, 1, 1, 1,
  ]);
});

test('among the keys of five thousand addresses the one with the seat is found, and no other loses any', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 10_000 } });
  const { gate } = system.deps;
  const id = toTaskId(uuid7({ msecs: Date.now() - hour }));
  await gate.admit(ask({ id, tiers: tiersFor({ ip: '198.51.100.1' }) }));
  const addresses = Array.from({ length: 5_000 }, (_, n) => `192.0.${n >> 8}.${n & 255}`);
  await Promise.all(addresses.map((ip) => gate.admit(ask({ tiers: tiersFor({ ip }) }))));
  expect(await dropOrphans(system.deps)).toBe(1);
  const uses = await Promise.all(
    ['198.51.100.1', '192.0.0.0', '192.0.19.135'].map((ip) => gate.observe({ tiers: [{ tier: 'ip', name: ip }] })),
  );
  expect(uses.map(({ tiers }) => tiers[0]?.inSystem.inUse)).toEqual([0, 1, 1]);
});

test.each(['before', 'after'] as const)(
  'who dies %s any call of it leaves what the next run gives back, in every tier',
  async (when) => {
    for (let at = 1, died = true; died; at++) {
      const system = await openSystem();
      await seated(system, hour);
      const ended = await seated(system, hour);
      const deadline = addMs(system.deps.clock.now(), minute);
      await system.deps.records.create({ ...ended, status: 'failed' }, { deadline });
      died = await diesAt(system.deps, at, when, dropOrphans);
      await dropOrphans(system.deps);
      expect(await heldLeases(system), `died ${when} call ${at}`).toEqual([]);
    }
  },
);

test('a seat without a record goes from whichever api of its pool it was', async () => {
  const system = await openSystem();
  const { tasks } = system.deps.weir;
  const weir = { ...system.deps.weir, tasks: { ...tasks, 'g/b': { ...(tasks['g/a'] as Task), api: 'g/b' } } };
  const id = toTaskId(uuid7({ msecs: Date.now() - hour }));
  await system.deps.gate.admit(ask({ id, tiers: tiersFor({ api: 'g/b' }) }));
  expect(await dropOrphans({ ...system.deps, weir })).toBe(1);
  expect(await heldLeases(system)).toEqual([]);
});

describe('a worker that died between its slots and its start', () => {
  const afterItsLease = 11 * minute;

  test.each(['cancelled', 'expired', 'gone'] as const)(
    'leaves nothing of a task that is %s, though its message never comes again',
    async (how) => {
      const system = await openSystem();
      const record = await deadWorker(system);
      if (how === 'cancelled') await cancel(system.deps, record);
      if (how === 'expired') await expire(system.deps, record);
      if (how === 'gone') {
        await cancel(system.deps, record);
        const Key = { pk: { S: taskKey(record) } };
        await system.client.send(new DeleteItemCommand({ TableName: system.table, Key }));
      }
      await deleteKeys(system, /^slots:/);
      expect(await heldLeases(system)).toContain('holders');
      // Not before a lease and `orphanMs` are over.
      expect(await reconcile(later(system, 4 * minute))).toMatchObject({ orphans: 0 });
      expect(await heldLeases(system)).toContain('holders');
      expect(await reconcile(later(system, afterItsLease))).toMatchObject({ orphans: 1 });
      expect(await heldLeases(system)).toEqual([]);
    },
  );

  test('loses nothing while its task is open, and nothing while its slots are live', async () => {
    const system = await openSystem();
    const record = await deadWorker(system);
    await dropOrphans(later(system, afterItsLease));
    await cancel(system.deps, record);
    await dropOrphans(later(system, afterItsLease));
    expect(await heldLeases(system)).toContain('holders');
    await deleteKeys(system, /^slots:/);
    await dropOrphans(later(system, afterItsLease));
    expect(await heldLeases(system)).toEqual([]);
  });

  test('and one that was cancelled while it ran is left to its handler', async () => {
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const system = await openSystem({ run: () => stopped });
    const record = await accept(system);
    const { pool, delivery } = await take(system);
    const working = work(system.deps, pool, delivery);
    await expect.poll(async () => (await system.deps.records.read(record))?.status).toBe('running');
    await cancel(system.deps, record);
    expect(await dropOrphans(later(system, afterItsLease))).toBe(0);
    expect(await heldLeases(system)).toContain('holders');
    stop();
    await working;
    expect(await heldLeases(system)).toEqual([]);
  });
});

/** A task whose worker died after `acquire`, with its message lost. */
async function deadWorker(system: System): Promise<TaskRecord> {
  const record = await accept(system);
  const { pool, delivery } = await take(system);
  const starts = { ...system.deps.records, start: () => Promise.reject(new Crashed('before start')) };
  await work({ ...system.deps, records: starts }, pool, delivery).catch(() => undefined);
  await system.queue.remove(delivery);
  expect(await heldLeases(system)).toEqual(expect.arrayContaining(['holders', 'slots:pool:p']));
  return record;
}
