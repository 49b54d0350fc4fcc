import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TaskRecord } from '../../../lib/domain/task-record.ts';
import { addMs } from '../../../lib/domain/time.ts';
import { admit } from '../../../lib/operations/admit.ts';
import type { WorkDeps } from '../../../lib/operations/deps.ts';
import { rebuild } from '../../../lib/operations/epoch.ts';
import { changeLimits } from '../../../lib/operations/limits.ts';
import { work } from '../../../lib/operations/work.ts';
import { Crashed, crashing } from '../../support/crash.ts';
import { post } from '../../support/deps.ts';
import { withHeart } from '../../support/heart.ts';
import { type OwnSystem, openOwnSystem, useOwnRedis } from '../../support/own-redis.ts';

useOwnRedis();

const pool = { tier: 'pool', name: 'p' } as const;

/** The wait before a rebuild takes no time, and is counted. */
function atOnce(deps: WorkDeps, waits: number[] = []): WorkDeps {
  return { ...deps, clock: { ...deps.clock, sleep: async (ms) => void waits.push(ms) } };
}

async function admitted(system: OwnSystem, n: number): Promise<TaskRecord> {
  const answer = await admit(system.deps, post(system, { n }));
  if (answer.kind !== 'admitted') throw new Error(`expected task ${n}, got ${answer.kind}`);
  return answer.record;
}

/** Holds its slots and its record says so, as after `start`. */
async function started({ deps }: OwnSystem, record: TaskRecord) {
  const nonce = randomUUID();
  const lease = { ...record, nonce, attempt: 1, leaseMs: 60_000, seatMs: 600_000 };
  const reply = await deps.gate.acquire(lease);
  if (reply.kind !== 'acquired') throw new Error(`expected slots, got ${reply.kind}`);
  const at = { startedAt: reply.now, deadline: addMs(reply.now, 60_000), dueAt: reply.lapses, epoch: reply.epoch };
  await deps.records.start({ tenant: record.tenant, id: record.id, attempt: 1, holder: nonce }, at);
  return lease;
}

/** A full pool of two that run and three that wait. */
async function fullSystem() {
  const system = await openOwnSystem({ pool: { leaseMs: 60_000, heartbeatMs: 20_000 } });
  const records: TaskRecord[] = [];
  for (let n = 0; n < 5; n++) records.push(await admitted(system, n));
  const running = [await started(system, records[0] as TaskRecord), await started(system, records[1] as TaskRecord)];
  return { system, records, running };
}

async function held({ connection, keys }: OwnSystem) {
  const read = (key: string) => connection.call('held', (client) => client.zrange(key, '0', '-1'));
  return { seats: (await read(keys.seats(pool))).sort(), slots: (await read(keys.slots(pool))).sort() };
}

test('a server that died comes back empty: closed until rebuilt, then seats, slots, limits and running work are as they were', async () => {
  const { system, records, running } = await fullSystem();
  const { gate } = system.deps;
  await changeLimits(system.deps, { how: 'merge', body: { ip: { inSystem: 50 } }, dryRun: false, by: 'test' });
  const before = await held(system);
  system.kill();
  await expect
    .poll(async () => (await gate.peek({ dedupKey: undefined, tiers: [pool] }).catch(() => undefined))?.kind, {
      timeout: 15_000,
    })
    .toBe('rebuilding');
  expect(await admit(system.deps, post(system, { n: 9 }))).toEqual({ kind: 'unavailable', reason: 'rebuilding' });
  expect(await gate.acquire({ ...running[0], nonce: randomUUID() } as Parameters<typeof gate.acquire>[0])).toEqual({
    kind: 'rebuilding',
  });
  for (const lease of running) expect(await gate.extend(lease)).toEqual({ kind: 'rebuilding' });

  const waits: number[] = [];
  expect(await rebuild(atOnce(system.deps, waits))).toEqual({ kind: 'rebuilt', restored: 5 });
  expect(waits).toEqual([15_000]);
  expect(await held(system)).toEqual(before);
  for (const lease of running) expect(await gate.extend(lease)).toMatchObject({ kind: 'extended' });
  expect(await system.deps.records.readEpoch()).toBe(2);
  expect(await admit(system.deps, post(system, { n: 9 }))).toMatchObject({ kind: 'rejected', limitsVersion: 1 });
  expect(await admit(system.deps, post(system, { n: 4 }))).toMatchObject({
    kind: 'joined',
    record: { id: records[4]?.id },
  });
  const next = { ...(records[2] as TaskRecord), nonce: randomUUID(), attempt: 1, leaseMs: 60_000, seatMs: 600_000 };
  expect(await gate.acquire(next)).toMatchObject({ kind: 'busy', inUse: 2, limit: 2 });
  await gate.release({ ...(running[0] as (typeof running)[0]), ended: { pointerMs: 0 } });
  expect(await gate.acquire(next)).toMatchObject({ kind: 'acquired', epoch: 2 });
  expect(await admit(system.deps, post(system, { n: 9 }))).toMatchObject({ kind: 'admitted' });
});

test('eight rebuilders at once: one rebuilds, the epoch grows by one, nothing is doubled', async () => {
  const { system } = await fullSystem();
  const before = await held(system);
  await system.forget();
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => rebuild(atOnce(system.deps))));
  expect(outcomes.filter(({ kind }) => kind === 'rebuilt')).toHaveLength(1);
  // The others left the work to it.
  expect(outcomes.map(({ restored }) => restored).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 5]);
  expect(await system.deps.records.readEpoch()).toBe(2);
  expect(await held(system)).toEqual(before);
});

test.each(['before', 'after'] as const)(
  'a rebuilder that dies %s any of its calls: closed or whole, and the next one ends it',
  async (when) => {
    const { system } = await fullSystem();
    const before = await held(system);
    const kinds = new Set<string>();
    let at = 1;
    for (let isOver = false; !isOver; at++) {
      await system.forget();
      const mortal = crashing(atOnce(system.deps), at, when);
      const died = await rebuild(mortal.deps).then(
        () => false,
        (error: unknown) => error instanceof Crashed,
      );
      isOver = !died;
      const answer = await system.deps.gate.peek({ dedupKey: undefined, tiers: [pool] });
      kinds.add(answer.kind);
      // Where the epoch has begun, nothing is missing.
      if (answer.kind !== 'rebuilding') expect(await held(system), `died at ${at}`).toEqual(before);
      // Its lock ends by itself after a minute.
      await system.connection.call('unlock', (client) => client.del(system.keys.rebuild));
      await rebuild(atOnce(system.deps));
      expect(await held(system), `died at ${at}`).toEqual(before);
      expect(await admit(system.deps, post(system, { n: 9 }))).toMatchObject({ kind: 'rejected' });
    }
    expect(kinds).toEqual(new Set(['rebuilding', 'full']));
    expect(at).toBeGreaterThan(12);
  },
);

test('a handler that runs while Redis loses everything comes to its end, and only once', async () => {
  let release: () => void = () => undefined;
  const gateOpens = new Promise<void>((resolve) => {
    release = resolve;
  });
  const system = await openOwnSystem({ run: async () => gateOpens.then(() => 'done') });
  const record = await admitted(system, 0);
  const delivery = await system.queue.receive();
  const at = system.deps.weir.pools.p;
  if (delivery === undefined || at === undefined) throw new Error('expected a message of pool p');
  const extended: string[] = [];
  const { gate } = system.deps;
  const extend: typeof gate.extend = async (input) => {
    const reply = await gate.extend(input);
    extended.push(reply.kind);
    return reply;
  };
  const working = work(withHeart({ ...system.deps, gate: { ...gate, extend } }), at, delivery);
  await expect.poll(() => extended).toContain('extended');
  await system.forget();
  await expect.poll(() => extended, { timeout: 5_000 }).toContain('rebuilding');
  await rebuild(atOnce(system.deps));
  await expect.poll(() => extended.slice(extended.indexOf('rebuilding')), { timeout: 5_000 }).toContain('extended');
  expect(extended).not.toContain('lost');
  release();
  expect(await working).toEqual({ kind: 'ack', because: 'succeeded' });
  expect(await system.deps.records.read(record)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(await held(system)).toEqual({ seats: [], slots: [] });
});

describe('a brand-new system starts at once', () => {
  test.each([
    ['a post comes first', 0],
    ['reconcile comes first', 1],
    ['both come at once, many times', 8],
  ])('%s', async (_name, rebuilders) => {
    const system = await openOwnSystem();
    const waits: number[] = [];
    const begun = performance.now();
    const rebuilt = Promise.all(Array.from({ length: rebuilders }, () => rebuild(atOnce(system.deps, waits))));
    if (rebuilders < 2) await rebuilt;
    const answers = await Promise.all([0, 1, 2].map((n) => admit(system.deps, post(system, { n }))));
    await rebuilt;
    expect(answers.map(({ kind }) => kind)).toEqual(['admitted', 'admitted', 'admitted']);
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(waits).not.toContain(15_000);
    expect(await system.deps.records.readEpoch()).toBe(1);
  });
});
