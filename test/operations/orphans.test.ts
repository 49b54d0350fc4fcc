import { v7 as uuid7 } from 'uuid';
import { expect, test } from 'vitest';
import { toTaskId } from '../../lib/domain/task-id.ts';
import { addMs, hour, minute } from '../../lib/domain/time.ts';
import { dropOrphans } from '../../lib/operations/orphans.ts';
import { heldLeases, openSystem, type System } from '../support/deps.ts';
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
