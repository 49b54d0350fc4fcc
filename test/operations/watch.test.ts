import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import type { AdmitDeps, WorkDeps } from '../../lib/operations/deps.ts';
import { type Heart, monotonicMs } from '../../lib/operations/heartbeat.ts';
import { watch } from '../../lib/operations/watch.ts';
import { work } from '../../lib/operations/work.ts';
import { heldLeases, openSystem, post, type System } from '../support/deps.ts';

const timeoutMs = 60_000;
/** The time of an attempt, and what its handler's side has to say that it is over. */
const overdueMs = timeoutMs + 3_000;

/** Works a new task with this heart; answers its record. */
async function workOne(system: System, input: unknown, deps: WorkDeps & AdmitDeps) {
  const admission = await admit(deps, post(system, input));
  const delivery = await system.queue.receive();
  const { p } = deps.weir.pools;
  if (admission.kind !== 'admitted' || delivery === undefined || p === undefined) throw new Error('expected a message');
  await work(deps, p, delivery);
  await system.queue.remove(delivery);
  return deps.records.read(admission.record);
}

/** A watch for which the attempt is overdue `afterMs` after it began. */
function overdueAfter(deps: WorkDeps, afterMs: number): Heart {
  return {
    beat(held, lost) {
      const now = monotonicMs();
      return watch(deps, held, { lost }, { begunAt: now - overdueMs + afterMs, goodAt: now });
    },
  };
}

test('both sides end one attempt at the same moment: one outcome, and nothing stays held', async () => {
  const system = await openSystem({
    task: { timeoutMs, retry: { attempts: 1 } },
    run: ({ input }) => sleep((input as { ms: number }).ms, 'done'),
  });
  const outcomes = new Set<string>();
  for (let ms = 20; ms < 60; ms += 2) {
    const deps = { ...system.deps, heart: overdueAfter(system.deps, 40) };
    const record = await workOne(system, { ms }, deps);
    expect(record).toMatchObject({ attempt: 1, failures: 0 });
    outcomes.add(record?.status === 'failed' ? (record.error?.code ?? '') : (record?.status ?? ''));
    await expect.poll(() => heldLeases(system)).toEqual([]);
  }
  expect([...outcomes].sort()).toEqual(['succeeded', 'timeout']);
});

test('a handler that ends while its time-out is being written keeps its process', async () => {
  const ending = Promise.withResolvers<void>();
  const system = await openSystem({
    task: { timeoutMs, retry: { attempts: 1 } },
    run: () => ending.promise,
  });
  const { records } = system.deps;
  const noticed: WorkDeps['records'] = {
    ...records,
    async finish(...write) {
      const written = await records.finish(...write);
      ending.resolve();
      await sleep(20);
      return written;
    },
  };
  const heart = overdueAfter({ ...system.deps, records: noticed }, 0);
  const record = await workOne(system, {}, { ...system.deps, heart });
  expect(record).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
  await expect.poll(() => heldLeases(system)).toEqual([]);
  expect(system.exits).toEqual([]);
});

test('a retry that it writes sets when the message comes again: nobody else can', async () => {
  const ending = Promise.withResolvers<void>();
  const system = await openSystem({
    pool: { leaseMs: 600_000 },
    task: { timeoutMs, retry: { attempts: 2 } },
    run: () => ending.promise,
  });
  const { messages } = system.deps;
  const hiddenMs: number[] = [];
  const noticed: WorkDeps['messages'] = {
    ...messages,
    async setVisibility(pool, handle, ms) {
      await messages.setVisibility(pool, handle, ms);
      hiddenMs.push(ms);
      ending.resolve();
    },
  };
  const heart = overdueAfter({ ...system.deps, messages: noticed }, 0);
  const record = await workOne(system, {}, { ...system.deps, heart });
  expect(record).toMatchObject({ status: 'queued', failures: 1 });
  expect(hiddenMs).toHaveLength(1);
  expect(hiddenMs[0]).toBeLessThan(60_000);
});

test('a handler that goes on after it was told to stop is watched until its process has ended', async () => {
  const system = await openSystem({ task: { timeoutMs: 100, retry: { attempts: 1 } }, run: () => sleep(4_000) });
  let watched = true;
  const heart: Heart = {
    beat: () => ({
      lost: () => false,
      stop() {
        watched = false;
      },
    }),
  };
  const watchedAtExit: boolean[] = [];
  await workOne(system, {}, { ...system.deps, heart, exit: () => watchedAtExit.push(watched) });
  expect(watchedAtExit).toEqual([true]);
});
