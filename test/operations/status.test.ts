import { expect, test } from 'vitest';
import { endOf } from '../../lib/domain/task-record.ts';
import { addMs } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { status } from '../../lib/operations/status.ts';
import { openSystem, post, type System } from '../support/deps.ts';

async function accepted(system: System) {
  const admission = await admit(system.deps, post(system, {}));
  if (admission.kind !== 'admitted') throw new Error(`expected admitted, got ${admission.kind}`);
  const record = await system.deps.records.read(admission.record);
  if (record === undefined) throw new Error('expected the record');
  return record;
}

/** Starts the task, as a worker would, when the reader has looked `after` times. */
function startingAfter(system: System, after: number, record: Awaited<ReturnType<typeof accepted>>) {
  let looks = 0;
  const read: System['deps']['records']['read'] = async (key) => {
    if (++looks === after + 1) {
      const now = system.deps.clock.now();
      await system.deps.records.start(
        { ...record, attempt: 1, holder: 'h' },
        { startedAt: now, deadline: now, dueAt: now, epoch: 1 },
      );
    }
    return system.deps.records.read(key);
  };
  return { deps: { ...system.deps, records: { ...system.deps.records, read } }, looks: () => looks };
}

test('a long poll answers at the change of status', async () => {
  const system = await openSystem();
  const record = await accepted(system);
  const { deps, looks } = startingAfter(system, 3, record);
  expect(await status(deps, { ...record, waitMs: 25_000 })).toMatchObject({
    kind: 'found',
    record: { status: 'running' },
  });
  expect(looks()).toBe(4);
});

test('one that knows the revision answers at any change; one that knows an old one answers at once', async () => {
  const system = await openSystem();
  const record = await accepted(system);
  expect(await status(system.deps, { ...record, waitMs: 25_000, known: record.revision - 1 })).toMatchObject({
    kind: 'found',
  });
  const { deps } = startingAfter(system, 2, record);
  expect(await status(deps, { ...record, waitMs: 25_000, known: record.revision })).toMatchObject({
    kind: 'found',
    record: { revision: 2 },
  });
});

test('when the time is over nothing has changed, and no reader waits longer than 25 s', async () => {
  const system = await openSystem();
  const record = await accepted(system);
  let now = system.deps.clock.now();
  const slept: number[] = [];
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms);
      now = addMs(now, Math.ceil(ms));
    },
  };
  expect(
    await status({ ...system.deps, clock }, { ...record, waitMs: 3_600_000, known: record.revision }),
  ).toMatchObject({ kind: 'unchanged' });
  expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(25_001);
  expect(Math.max(...slept)).toBeLessThanOrEqual(500);
});

test('an ended task answers at once, also to who knows its revision', async () => {
  const system = await openSystem();
  const record = await accepted(system);
  const ended = await system.deps.records.expire(record, endOf(record, system.deps.clock.now()));
  const revision = ended.record?.revision;
  const never = { ...system.deps.clock, sleep: () => Promise.reject(new Error('it waited')) };
  expect(await status({ ...system.deps, clock: never }, { ...record, waitMs: 25_000, known: revision })).toMatchObject({
    kind: 'unchanged',
  });
  expect(await status({ ...system.deps, clock: never }, { ...record, waitMs: 25_000 })).toMatchObject({
    kind: 'found',
  });
});

test('another tenant finds nothing', async () => {
  const system = await openSystem();
  const { id } = await accepted(system);
  expect(await status(system.deps, { tenant: 'u', id, waitMs: 25_000 })).toEqual({ kind: 'absent' });
});
