import { describe, expect, test } from 'vitest';
import { minute, second } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { work } from '../../lib/operations/work.ts';
import { TaskError } from '../../lib/task.ts';
import { heldLeases, openSystem, post, type System } from '../support/deps.ts';

/** Runs one attempt; answers what became of its message, and its record. */
async function attempt(system: System) {
  const admission = await admit(system.deps, post(system, {}));
  const delivery = await system.queue.receive();
  const pool = system.deps.weir.pools.p;
  if (admission.kind !== 'admitted' || delivery === undefined || pool === undefined) throw new Error('expected a task');
  const worked = await work(system.deps, pool, delivery);
  const record = await system.deps.records.read(admission.record);
  if (record === undefined) throw new Error('expected a record');
  return { worked, record };
}

const failing = (options: ConstructorParameters<typeof TaskError>[2]) => () =>
  Promise.reject(new TaskError('down', 'the backend is down', options));

describe('the wait before the next try', () => {
  test('is random, at most what the api says, and doubles', async () => {
    const system = await openSystem({
      task: { retry: { attempts: 20, firstMs: 2_000, longestMs: 3_000 } },
      run: failing({ retryable: true }),
    });
    const { worked, record } = await attempt(system);
    expect(worked).toMatchObject({ kind: 'defer', because: 'retry' });
    const afterMs = worked.kind === 'defer' ? worked.afterMs : 0;
    expect(afterMs).toBeLessThanOrEqual(2_000);
    expect((record.runAt ?? 0) - Date.now()).toBeLessThanOrEqual(2_000);
    expect(record).toMatchObject({ status: 'queued', failures: 1, attempt: 1 });
  });

  test('is never shorter than the handler said', async () => {
    const system = await openSystem({ run: failing({ retryable: true, retryAfterMs: 5 * minute }) });
    const { worked } = await attempt(system);
    expect(worked).toMatchObject({ kind: 'defer', afterMs: 5 * minute });
  });

  test('beyond a quarter of an hour it is parked: the message has done its work, and reconcile sends another when it is time', async () => {
    const system = await openSystem({ run: failing({ retryable: true, retryAfterMs: 20 * minute }) });
    const { worked, record } = await attempt(system);
    expect(worked).toEqual({ kind: 'ack', because: 'retry, parked' });
    expect((record.runAt ?? 0) - Date.now()).toBeGreaterThan(19 * minute);
    expect(record.dueAt).toBe(record.runAt);
    expect(await reconcile(system.deps)).toMatchObject({ sent: 0 });
    const { clock } = system.deps;
    const then = { ...system.deps, clock: { ...clock, now: () => (clock.now() + 20 * minute) as never } };
    expect(await reconcile(then)).toMatchObject({ sent: 1 });
    expect((await heldLeases(system)).filter((key) => key.startsWith('slots'))).toEqual([]);
    expect((await heldLeases(system)).some((key) => key.startsWith('seats'))).toBe(true);
  });

  test('never outlasts the record: then the task fails, a dead letter', async () => {
    const system = await openSystem({ run: failing({ retryable: true, retryAfterMs: 20 * minute }) });
    const { weir } = system.deps;
    const brief = {
      ...system,
      deps: { ...system.deps, weir: { ...weir, times: { ...weir.times, keepMs: 130 * minute } } },
    };
    const { record } = await attempt(brief);
    expect(record).toMatchObject({ status: 'failed', error: { code: 'down' }, attempt: 1 });
  });
});

describe('reconcile', () => {
  test('runs once at a time; one that died keeps the others away for ten seconds at most', async () => {
    const system = await openSystem();
    await admit(system.deps, post(system, {}));
    const runs = await Promise.all(Array.from({ length: 5 }, () => reconcile(system.deps)));
    expect(runs.filter(({ skipped }) => skipped === 0)).toHaveLength(1);
    expect(await reconcile(system.deps)).toMatchObject({ skipped: 0 });
    await system.deps.gate.single({ name: 'reconcile', nonce: 'dead', lastMs: 10 * second });
    expect(await reconcile(system.deps)).toMatchObject({ skipped: 1, sent: 0 });
    await system.deps.gate.single({ name: 'reconcile', nonce: 'dead', lastMs: 1 });
    await expect.poll(() => reconcile(system.deps)).toMatchObject({ skipped: 0 });
  });

  test('goes on where Redis does not say whether another run is under way', async () => {
    const system = await openSystem();
    const away = { ...system.deps.gate, single: () => Promise.reject(new Error('no answer')) };
    expect(await reconcile({ ...system.deps, gate: away })).toMatchObject({ skipped: 0 });
  });

  test('counts what it mended', async () => {
    const system = await openSystem();
    const admission = await admit(system.deps, post(system, {}));
    if (admission.kind !== 'admitted') throw new Error('expected admitted');
    await system.deps.records.setDue(admission.record, system.deps.clock.now());
    await reconcile(system.deps);
    expect(system.counted).toContain('reconcile_mended_total 1 sent');
  });
});
