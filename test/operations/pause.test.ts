import { expect, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import { changeLimits, readLimits } from '../../lib/operations/limits.ts';
import { observe } from '../../lib/operations/observe.ts';
import { changePause } from '../../lib/operations/pause.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { waiting } from '../../lib/operations/waiting.ts';
import { work } from '../../lib/operations/work.ts';
import { drain, openSystem, post, type System } from '../support/deps.ts';

const by = 'test';
const pause = (system: System, admission: 'continue' | 'refuse') =>
  changePause(system.deps, { pool: 'p', pause: { admission }, by });
const resume = (system: System) => changePause(system.deps, { pool: 'p', pause: undefined, by });
const status = async (system: System) =>
  (await observe({ ...system.deps, queues: { count: async () => ({ p: { invisible: 3, dead: 0 } }) } })).pools.p;

test('a paused pool starts nothing and says so; what waits runs once it goes on, no attempt counted', async () => {
  let runs = 0;
  const system = await openSystem({ run: async () => ++runs });
  const admission = await admit(system.deps, post(system, { n: 1 }));
  if (admission.kind !== 'admitted') throw new Error('expected admitted');
  expect(await pause(system, 'continue')).toEqual({ kind: 'changed', version: 1 });
  expect(await pause(system, 'continue')).toEqual({ kind: 'unchanged', version: 1 });
  expect((await admit(system.deps, post(system, { n: 2 }))).kind).toBe('admitted');
  const deliveries = [await system.queue.receive(), await system.queue.receive()];
  const { p: pool } = system.deps.weir.pools;
  for (const delivery of deliveries) {
    if (delivery === undefined || pool === undefined) throw new Error('expected a message of the pool');
    expect(await work(system.deps, pool, delivery)).toMatchObject({ kind: 'defer', because: 'paused' });
    await system.deps.messages.setVisibility('p', delivery.receiptHandle, 0);
  }
  expect(runs).toBe(0);
  expect(await waiting(system.deps, admission.record)).toMatchObject({
    waitingOn: [{ tier: 'pool', name: 'p', paused: true }],
    expectation: { eta: { kind: 'unknown' } },
  });
  expect(await status(system)).toMatchObject({ paused: true, admission: 'continue', deferred: 2 });
  await resume(system);
  await drain(system);
  expect(runs).toBe(2);
  expect(await status(system)).toMatchObject({ paused: false, pending: 0, deferred: 0 });
  expect(await system.deps.records.read(admission.record)).toMatchObject({ attempt: 1, failures: 0 });
});

test('one that refuses takes no new tasks, but still answers for those it has', async () => {
  const system = await openSystem();
  const first = await admit(system.deps, post(system, { n: 1 }));
  await pause(system, 'refuse');
  expect(await admit(system.deps, post(system, { n: 2 }))).toEqual({ kind: 'paused', pool: 'p' });
  const again = await admit(system.deps, post(system, { n: 1 }));
  expect(again).toMatchObject({ kind: 'joined', record: { id: first.kind === 'admitted' && first.record.id } });
  expect(await pause(system, 'continue')).toMatchObject({ kind: 'changed' });
  expect((await admit(system.deps, post(system, { n: 2 }))).kind).toBe('admitted');
});

test('limits may change and be put back while it is paused, and it stays so', async () => {
  const system = await openSystem();
  await pause(system, 'refuse');
  const change = { how: 'replace' as const, ifVersion: undefined, dryRun: false, by };
  expect(await changeLimits(system.deps, { ...change, body: { pools: { p: { running: 1 } } } })).toMatchObject({
    kind: 'changed',
    view: { version: 2, paused: { p: { admission: 'refuse' } } },
  });
  await changeLimits(system.deps, { ...change, body: {} });
  expect((await admit(system.deps, post(system, {}))).kind).toBe('paused');
  expect(await resume(system)).toEqual({ kind: 'changed', version: 4 });
  expect(await readLimits(system.deps)).toMatchObject({ paused: {} });
  expect((await admit(system.deps, post(system, {}))).kind).toBe('admitted');
});

test('one that was stored while Redis did not answer is put into force by reconcile', async () => {
  const system = await openSystem();
  const away = { ...system.deps.gate, setLimits: () => Promise.reject(new Error('no answer')) };
  expect(await changePause({ ...system.deps, gate: away }, { pool: 'p', pause: { admission: 'refuse' }, by })).toEqual({
    kind: 'delayed',
    version: 1,
  });
  expect((await admit(system.deps, post(system, { n: 1 }))).kind).toBe('admitted');
  await reconcile(system.deps);
  expect((await admit(system.deps, post(system, { n: 2 }))).kind).toBe('paused');
});

test('a pause and a change of limits that meet: neither is lost', async () => {
  const system = await openSystem({ pool: { running: 2, pending: 3, maxRunning: 10 } });
  const change = { how: 'merge' as const, ifVersion: undefined, dryRun: false, by };
  let first = true;
  const between = async () => {
    const read = await system.deps.records.readLimits();
    if (first) {
      first = false;
      await changeLimits(system.deps, { ...change, body: { pools: { p: { running: 3 } } } });
    }
    return read;
  };
  const records = { ...system.deps.records, readLimits: between };
  expect(await changePause({ ...system.deps, records }, { pool: 'p', pause: { admission: 'refuse' }, by })).toEqual({
    kind: 'changed',
    version: 2,
  });
  expect(await readLimits(system.deps)).toMatchObject({
    version: 2,
    paused: { p: { admission: 'refuse' } },
    limits: { pools: { p: { running: 3 } } },
  });
});
