import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import { changeLimits } from '../../lib/operations/limits.ts';
import { observe } from '../../lib/operations/observe.ts';
import { Outlook } from '../../lib/operations/outlook.ts';
import { waiting } from '../../lib/operations/waiting.ts';
import { work } from '../../lib/operations/work.ts';
import { drain, openSystem, post, type System } from '../support/deps.ts';

/** A system that has run thirty tasks of about `ms`. */
async function experienced(ms: number, pool: Parameters<typeof openSystem>[0] = {}): Promise<System> {
  const system = await openSystem({ ...pool, run: () => sleep(ms) });
  await Promise.all(Array.from({ length: 25 }, () => serve(system, ms)));
  return { ...system, deps: { ...system.deps, outlook: new Outlook(system.deps) } };
}

/** One task's time as release learns it, without the task. */
async function serve({ deps }: System, ms: number): Promise<void> {
  const id = deps.newId();
  const tiers = [
    { tier: 'pool' as const, name: 'p' },
    { tier: 'api' as const, name: 'g/a' },
  ];
  const claim = { tenant: 'warm', id, tiers, permits: 1 };
  const nonce = deps.newNonce();
  const deadline = (deps.clock.now() + 60_000) as never;
  for (;;) {
    const reply = await deps.gate.acquire({
      ...claim,
      nonce,
      attempt: 1,
      leaseMs: 60_000,
      deadline,
      seatMs: 1_000,
      epoch: 1,
    });
    if (reply.kind === 'acquired') break;
    await sleep(5);
  }
  await sleep(ms);
  await deps.gate.release({ ...claim, nonce, served: true, dedupKey: `D#${id}`, ended: { pointerMs: 0 } });
}

test('before anything is known the timeout is assumed, and the answer says so', async () => {
  const system = await openSystem({ pool: { running: 1, pending: 5 } });
  const first = await admit(system.deps, post(system, { n: 1 }));
  expect(first).toMatchObject({ expectation: { position: 1, eta: { kind: 'assumed', p50: 0, p90: 0 } } });
  const second = await admit(system.deps, post(system, { n: 2 }));
  expect(second).toMatchObject({ expectation: { position: 2, eta: { kind: 'assumed', p50: 20_000, p90: 20_000 } } });
});

test('once measured, a task is told when it starts, and whether that was kept is counted', async () => {
  const system = await experienced(60, { pool: { running: 1, pending: 9 } });
  const all = [];
  for (let n = 0; n < 4; n++) all.push(await admit(system.deps, post(system, { n })));
  const etas = all.map((each) =>
    each.kind === 'admitted' && each.expectation?.eta.kind === 'measured' ? each.expectation.eta.p90 : -1,
  );
  expect(etas[0]).toBe(0);
  expect(etas.slice(1).every((p90) => p90 > 30 && p90 < 2_000)).toBe(true);
  expect([...etas].sort((a, b) => a - b)).toEqual(etas);
  await drain(system);
  const { pools } = await observe({ ...system.deps, queues: { count: async () => ({}) } });
  expect(pools.p?.etas.told).toBe(4);
});

test('a client that will not wait as long is refused at the door, and takes nothing; one that will is admitted', async () => {
  const system = await experienced(60, { pool: { running: 1, pending: 9 } });
  await admit(system.deps, post(system, { n: 1 }));
  await admit(system.deps, post(system, { n: 2 }));
  const refused = await admit(system.deps, post(system, { n: 3 }, { options: { maxWaitMs: 20 } }));
  expect(refused).toMatchObject({ kind: 'too_late', maxWaitMs: 20, expectation: { position: 3 } });
  expect(await admit(system.deps, post(system, { n: 3 }, { options: { maxWaitMs: 60_000 } }))).toMatchObject({
    kind: 'admitted',
  });
  expect(await admit(system.deps, post(system, { n: 2 }, { options: { maxWaitMs: 0 } }))).toMatchObject({
    kind: 'joined',
  });
});

test('a narrow tier counts too for who will not wait', async () => {
  const system = await experienced(60, { pool: { running: 4, pending: 9 } });
  await changeLimits(system.deps, { how: 'merge', body: { apis: { 'g/a': { running: 1 } } }, dryRun: false, by: 'x' });
  await admit(system.deps, post(system, { n: 1 }));
  await admit(system.deps, post(system, { n: 2 }));
  expect(await admit(system.deps, post(system, { n: 3 }, { options: { maxWaitMs: 20 } }))).toMatchObject({
    kind: 'too_late',
  });
  expect(await admit(system.deps, post(system, { n: 3 }, { options: { maxWaitMs: 60_000 } }))).toMatchObject({
    kind: 'admitted',
  });
});

test('a queued task says what it waits on and behind how many', async () => {
  const system = await openSystem({ pool: { running: 1, pending: 5 }, run: () => sleep(1_500) });
  const records = [];
  for (let n = 0; n < 3; n++) {
    const admission = await admit(system.deps, post(system, { n }));
    if (admission.kind === 'admitted') records.push(admission.record);
  }
  const pool = system.deps.weir.pools.p;
  const delivery = await system.queue.receive();
  if (pool === undefined || delivery === undefined) throw new Error('expected a message');
  const working = work(system.deps, pool, delivery);
  await expect.poll(() => system.deps.records.read(delivery.message).then((record) => record?.status)).toBe('running');
  const queued = records.filter(({ id }) => id !== delivery.message.id);
  expect(await waiting(system.deps, queued[0] as never)).toMatchObject({
    waitingOn: [{ tier: 'pool', name: 'p', inUse: 1, limit: 1, ahead: 0 }],
    expectation: { position: 1 },
  });
  expect(await waiting(system.deps, queued[1] as never)).toMatchObject({
    waitingOn: [{ ahead: 1 }],
    expectation: { position: 2 },
  });
  const running = await system.deps.records.read(delivery.message);
  expect(await waiting(system.deps, running as never)).toBeUndefined();
  await working;
});

test('clients refused together are told to come back one after the other', async () => {
  const system = await openSystem({ pool: { running: 1, pending: 0 } });
  await admit(system.deps, post(system, { n: 0 }));
  const waits = [];
  for (let n = 1; n <= 5; n++) {
    const refused = await admit(system.deps, post(system, { n }));
    waits.push(refused.kind === 'rejected' ? refused.retryAfterMs : 0);
  }
  expect([...waits].sort((a, b) => a - b)).toEqual(waits);
  expect(waits[0]).toBeGreaterThanOrEqual(20_000);
  expect(waits[4]).toBeGreaterThanOrEqual(100_000);
});

test('tasks of two permits stand in line as tasks, on half as many places', async () => {
  const system = await openSystem({ pool: { running: 4, pending: 9 }, task: { permits: 2 } });
  const positions = [];
  for (let n = 0; n < 4; n++) {
    const admission = await admit(system.deps, post(system, { n }));
    if (admission.kind !== 'admitted') throw new Error(`expected admitted, got ${admission.kind}`);
    positions.push([admission.expectation?.position, admission.expectation?.eta]);
    if (n < 2) {
      const { record } = admission;
      const slots = { attempt: 1, nonce: `n${n}`, leaseMs: 60_000, seatMs: 60_000 };
      expect(await system.deps.gate.acquire({ ...record, ...slots })).toMatchObject({ kind: 'acquired' });
    }
  }
  expect(positions).toEqual([
    [1, { kind: 'assumed', p50: 0, p90: 0 }],
    [1, { kind: 'assumed', p50: 0, p90: 0 }],
    [1, { kind: 'assumed', p50: 10_000, p90: 10_000 }],
    [2, { kind: 'assumed', p50: 20_000, p90: 20_000 }],
  ]);
});
