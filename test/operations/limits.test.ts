import { expect, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import { changeLimits, enforceStored, type LimitsChange, readLimits } from '../../lib/operations/limits.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { Unavailable } from '../../lib/ports.ts';
import { openSystem, post, type System } from '../support/deps.ts';

function change({ deps }: System, body: unknown, over: Partial<LimitsChange> = {}) {
  return changeLimits(deps, { how: 'merge', body, dryRun: false, by: 'somebody', ...over });
}

async function kinds(system: System, count: number, from = 0): Promise<string[]> {
  const all = Array.from({ length: count }, (_, n) => admit(system.deps, post(system, { n: from + n })));
  return (await Promise.all(all)).map(({ kind }) => kind).sort();
}

test('a change takes effect at the next decision, which names its version; nothing that is in is stopped', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 2 } });
  expect(await kinds(system, 3)).toEqual(['admitted', 'admitted', 'admitted']);
  const changed = await change(system, { pools: { p: { running: 1, pending: 0 } } });
  expect(changed).toMatchObject({
    kind: 'changed',
    view: { version: 1, changedBy: 'somebody', limits: { pools: { p: { running: 1, pending: 0 } } } },
    effects: [
      { tier: 'pool', limit: 'running', from: 2, to: 1, inUse: 0, over: 0 },
      { tier: 'pool', limit: 'inSystem', from: 4, to: 1, inUse: 3, over: 2, drainsInMs: expect.any(Number) },
    ],
  });
  expect(await admit(system.deps, post(system, { n: 9 }))).toMatchObject({
    kind: 'rejected',
    limitsVersion: 1,
    tiers: [{ inSystem: { inUse: 3, limit: 1 } }, {}, {}, {}],
  });
  await change(system, { pools: { p: null } });
  expect(await admit(system.deps, post(system, { n: 9 }))).toMatchObject({ kind: 'admitted', limitsVersion: 2 });
});

test('0 closes, an absent limit can be set, null takes it back', async () => {
  const system = await openSystem();
  await change(system, { ip: { inSystem: 0 } });
  expect(await kinds(system, 1)).toEqual(['rejected']);
  await change(system, { ip: { inSystem: 1 } });
  expect(await kinds(system, 3)).toEqual(['admitted', 'rejected', 'rejected']);
  await change(system, { ip: null });
  expect(await kinds(system, 1, 5)).toEqual(['admitted']);
});

test('a dry run says what would be and changes nothing', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 2 } });
  await kinds(system, 3);
  expect(await change(system, { pools: { p: { pending: 0, running: 0 } } }, { dryRun: true })).toMatchObject({
    kind: 'would_change',
    view: { version: 1 },
    effects: [
      { limit: 'running', over: 0 },
      { limit: 'inSystem', inUse: 3, over: 3 },
    ],
  });
  expect(await readLimits(system.deps)).toMatchObject({ version: 0, overrides: {} });
  expect(await kinds(system, 1, 5)).toEqual(['admitted']);
});

test('of twenty at once on one version one wins, the others are told; every version is kept and can be set again', async () => {
  const system = await openSystem();
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, n) => change(system, { ip: { inSystem: n } }, { ifVersion: 0 })),
  );
  expect(all.filter(({ kind }) => kind === 'changed')).toHaveLength(1);
  expect(all.filter(({ kind }) => kind === 'stale')).toHaveLength(19);
  await change(system, { ip: { inSystem: 100 } });
  const first = await readLimits(system.deps, 1);
  expect(await change(system, first?.overrides, { how: 'replace', by: 'another' })).toMatchObject({
    kind: 'changed',
    view: { version: 3, overrides: first?.overrides, changedBy: 'another' },
  });
  expect(await readLimits(system.deps, 2)).toMatchObject({
    overrides: { ip: { inSystem: 100 } },
    changedBy: 'somebody',
  });
  expect(await readLimits(system.deps, 4)).toBeUndefined();
});

test('a fault changes nothing', async () => {
  const system = await openSystem();
  expect(await change(system, { pools: { p: { running: 99 } } })).toMatchObject({ kind: 'faults' });
  expect(await readLimits(system.deps)).toMatchObject({ version: 0 });
});

test('an older version never overtakes a newer one, and what Redis missed reconcile puts into force', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 2 } });
  const { gate } = system.deps;
  const away = { ...gate, setLimits: () => Promise.reject(new Unavailable('redis', 'away')) };
  const missed = await changeLimits(
    { ...system.deps, gate: away },
    { how: 'merge', body: { ip: { inSystem: 0 } }, dryRun: false, by: 'x' },
  );
  expect(missed).toMatchObject({ kind: 'changed', delayed: true });
  expect(await kinds(system, 1)).toEqual(['admitted']);
  await reconcile(system.deps);
  expect(await kinds(system, 1, 5)).toEqual(['rejected']);
  await change(system, { ip: { inSystem: 0, running: 7 } });
  expect(await gate.setLimits({ version: 1, overrides: [], paused: {} })).toEqual({ kind: 'older', version: 2 });
  await enforceStored(system.deps);
  expect(await kinds(system, 1, 6)).toEqual(['rejected']);
});

test('a deployment that changes what an override amounts to is felt within a minute, at the same version', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 2 } });
  await change(system, { pools: { p: { running: 1 } } });
  const pools = { p: { ...(system.deps.weir.pools.p as NonNullable<typeof system.deps.weir.pools.p>), pending: 0 } };
  await reconcile({ ...system.deps, weir: { ...system.deps.weir, pools } });
  expect(await kinds(system, 3)).toEqual(['admitted', 'rejected', 'rejected']);
});

test('what a pool would hold in all is bounded too', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 2 } });
  expect(await change(system, { pools: { p: { pending: 1_000_000 } } })).toMatchObject({
    kind: 'faults',
    faults: [{ path: 'pools.p', message: 'expected running + pending of at most 1000000, got 1000002' }],
  });
});

test('limits that cannot be put into force do not keep reconcile from what is due', async () => {
  const system = await openSystem();
  await admit(system.deps, post(system, {}));
  const broken = { ...system.deps.gate, setLimits: () => Promise.reject(new Error('BADARG')) };
  await change(system, { ip: { inSystem: 9 } });
  const record = await system.queue.receive();
  if (record === undefined) throw new Error('expected a message');
  await system.deps.records.setDue(record.message, system.deps.clock.now());
  expect(await reconcile({ ...system.deps, gate: broken })).toMatchObject({ sent: 1 });
});

test('merges that name no version all come in, one after the other', async () => {
  const system = await openSystem();
  const apis = await Promise.all([
    change(system, { ip: { inSystem: 5 } }),
    change(system, { tenant: { inSystem: 6 } }),
  ]);
  expect(apis.map(({ kind }) => kind)).toEqual(['changed', 'changed']);
  expect(await readLimits(system.deps)).toMatchObject({
    version: 2,
    overrides: { ip: { inSystem: 5 }, tenant: { inSystem: 6 } },
  });
});
