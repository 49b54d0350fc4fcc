import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { addMs } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { deadLetters } from '../../lib/operations/dead-letters.ts';
import { changePause } from '../../lib/operations/pause.ts';
import { redrive } from '../../lib/operations/redrive.ts';
import { continueRedrive, startRedrive, stopRedrive } from '../../lib/operations/redrive-job.ts';
import { TaskError } from '../../lib/task.ts';
import { diesAt } from '../support/crash.ts';
import { drain, heldLeases, openSystem, post, type System } from '../support/deps.ts';
import { tiersFor } from '../support/gate.ts';
import { taskRecord } from '../support/records.ts';

/** Dead tasks as they are left: in the table, out of Redis. */
async function bodies(system: System, count: number, code = 'broken', api = 'g/a'): Promise<TaskRecord[]> {
  const { records, clock } = system.deps;
  return Promise.all(
    Array.from({ length: count }, async () => {
      const record = taskRecord({ api, tiers: tiersFor({ api }) });
      await records.create(record, { deadline: addMs(clock.now(), 10_000) });
      const end = { finishedAt: clock.now(), callbackUrl: undefined };
      const dead = await records.giveUp({ ...record, burials: 0 }, { code, message: 'it broke' }, end);
      if (dead.record === undefined) throw new Error('expected a dead task');
      return dead.record;
    }),
  );
}

async function letters(system: System): Promise<string[]> {
  const all = await deadLetters(system.deps, { limit: 100 });
  return all.letters.flatMap((letter) => (letter.kind === 'task' ? [letter.record.id] : []));
}

const request = { filter: {}, dryRun: false, perSecond: 200, by: 'test' };
const soon = (system: System, ms = 20_000) => addMs(system.deps.clock.now(), ms);

describe('one dead task', () => {
  test('is done again by a new one with a new budget; the dead one names it and is no dead letter any more', async () => {
    let attempts = 0;
    const system = await openSystem({
      task: { retry: { attempts: 2, firstMs: 1 } },
      run: () => {
        attempts++;
        if (attempts <= 2) throw new TaskError('down', 'the backend is down', { retryable: true });
        return Promise.resolve('up again');
      },
    });
    const admission = await admit(system.deps, post(system, { n: 1 }));
    if (admission.kind !== 'admitted') throw new Error('expected admitted');
    await drain(system);
    const dead = await system.deps.records.read(admission.record);
    expect(dead).toMatchObject({ status: 'failed', failures: 1, attempt: 2, error: { code: 'down' } });
    if (dead === undefined) throw new Error('expected the dead task');
    expect(await letters(system)).toEqual([dead.id]);
    expect(await redrive(system.deps, dead)).toEqual({ kind: 'redriven' });
    expect(await redrive(system.deps, dead)).not.toEqual({ kind: 'redriven' });
    expect(await letters(system)).toEqual([]);
    const marked = await system.deps.records.read(dead);
    const again = await system.deps.records.read({ tenant: 't', id: marked?.redrivenAs as never });
    expect(again).toMatchObject({ status: 'queued', failures: 0, attempt: 0, redriveOf: dead.id, input: dead.input });
    await drain(system);
    expect(await system.deps.records.read({ tenant: 't', id: again?.id as never })).toMatchObject({
      status: 'succeeded',
      result: '"up again"',
    });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('a fatal error is no dead letter: to do the same again cannot help', async () => {
    const system = await openSystem({ run: () => Promise.reject(new TaskError('damaged', 'it is damaged')) });
    await admit(system.deps, post(system, {}));
    await drain(system);
    expect(await letters(system)).toEqual([]);
  });

  test('whose request was posted again meanwhile is joined to that task', async () => {
    const system = await openSystem();
    const [dead] = await bodies(system, 1);
    if (dead === undefined) throw new Error('expected a dead task');
    const other = taskRecord({ dedupKey: dead.dedupKey });
    await system.deps.records.create(other, { seen: dead.id, deadline: soon(system) });
    expect(await redrive(system.deps, dead)).toEqual({ kind: 'joined' });
    expect(await system.deps.records.read(dead)).toMatchObject({ redrivenAs: other.id });
    expect(await letters(system)).toEqual([]);
    expect(await heldLeases(system)).toEqual([]);
  });

  test('whose new task has ended since is not done a third time by who still takes it for dead', async () => {
    const system = await openSystem();
    const [dead] = await bodies(system, 1);
    if (dead === undefined) throw new Error('expected a dead task');
    expect(await redrive(system.deps, dead)).toEqual({ kind: 'redriven' });
    const again = (await system.deps.records.read(dead))?.redrivenAs;
    await cancel(system.deps, { tenant: 't', id: again as never });
    expect(await redrive(system.deps, dead)).toEqual({ kind: 'gone' });
    expect((await system.deps.records.read(dead))?.redrivenAs).toBe(again);
    expect(await heldLeases(system)).toEqual([]);
  });

  test('twenty redrives of it at once make one task', async () => {
    const system = await openSystem({ pool: { running: 5, pending: 100 } });
    const [dead] = await bodies(system, 1);
    if (dead === undefined) throw new Error('expected a dead task');
    const all = await Promise.all(Array.from({ length: 20 }, () => redrive(system.deps, dead)));
    expect(all.filter(({ kind }) => kind === 'redriven')).toHaveLength(1);
    const tiers = [{ tier: 'pool' as const, name: 'p' }];
    const seen = await system.deps.gate.observe({ tiers });
    expect(seen.tiers[0]?.inSystem.inUse).toBe(1);
  });

  test.each(['before', 'after'] as const)(
    'a redrive that dies %s any of its calls makes no second task',
    async (when) => {
      for (let at = 1, died = true; died; at++) {
        const system = await openSystem({ pool: { running: 5, pending: 5 } });
        const [dead] = await bodies(system, 1);
        if (dead === undefined) throw new Error('expected a dead task');
        died = await diesAt(system.deps, at, when, (deps) => redrive(deps, dead));
        const first = (await system.deps.records.read(dead))?.redrivenAs;
        // A lock that was left lapses; here it is taken away.
        await system.deps.gate.release({ ...dead, id: first ?? dead.id, dedupKey: dead.dedupKey });
        if (first !== undefined) {
          expect(['joined', 'gone']).toContain((await redrive(system.deps, dead)).kind);
          expect((await system.deps.records.read(dead))?.redrivenAs).toBe(first);
        } else expect(['redriven', 'held']).toContain((await redrive(system.deps, dead)).kind);
      }
    },
  );
});

describe('many', () => {
  test('a dry run counts right and changes nothing; filters choose; run twice it does nothing more', async () => {
    const system = await openSystem({ pool: { running: 5, pending: 500 } });
    const broken = await bodies(system, 230);
    await bodies(system, 20, 'other');
    const filter = { code: 'broken' };
    const dry = await startRedrive(system.deps, { ...request, filter, dryRun: true });
    expect(dry).toMatchObject({ kind: 'would_start', matched: 230, byApi: { 'g/a': 230 }, byCode: { broken: 230 } });
    expect(await system.deps.records.readRedrive()).toBeUndefined();
    expect(await startRedrive(system.deps, { ...request, filter })).toMatchObject({ kind: 'started', matched: 230 });
    expect(await startRedrive(system.deps, { ...request, filter })).toMatchObject({ kind: 'running' });
    let redriven = 0;
    while ((await system.deps.records.readRedrive())?.status === 'running')
      redriven += await continueRedrive(system.deps, soon(system));
    expect(redriven).toBe(230);
    expect(await system.deps.records.readRedrive()).toMatchObject({ status: 'done', redriven: 230, joined: 0 });
    expect(await startRedrive(system.deps, { ...request, filter })).toMatchObject({
      matched: 0,
      job: { status: 'done' },
    });
    expect(await continueRedrive(system.deps, soon(system))).toBe(0);
    const marked = await system.deps.records.readMany(broken.slice(0, 100));
    expect(new Set(marked.map(({ redrivenAs }) => redrivenAs)).size).toBe(100);
    expect(await letters(system)).toHaveLength(20);
  });

  test('waits while the pool is full, goes on in the next run, and two runs at once do none twice', async () => {
    const system = await openSystem({ pool: { running: 2, pending: 3 } });
    await bodies(system, 12);
    await startRedrive(system.deps, request);
    expect(await continueRedrive(system.deps, soon(system, 1_500))).toBe(5);
    expect(await system.deps.records.readRedrive()).toMatchObject({ status: 'running', redriven: 5 });
    const runs = [continueRedrive(system.deps, soon(system)), continueRedrive(system.deps, soon(system))];
    await sleep(100);
    let done = false;
    const working = [0, 1].map(async () => {
      while (!done) await drain(system);
    });
    const redriven = await Promise.all(runs);
    done = true;
    await Promise.all(working);
    expect(redriven.reduce((sum, count) => sum + count, 0)).toBe(7);
    expect(await letters(system)).toEqual([]);
  });

  test('a pool without room, or paused, holds up no other', async () => {
    const system = await openSystem({ pool: { running: 5, pending: 50 } });
    const { deps } = system;
    const task = deps.weir.tasks['g/a'];
    if (task === undefined) throw new Error('expected g/a');
    const tasks = { ...deps.weir.tasks, 'g/b': { ...task, api: 'g/b', pool: 'q' } };
    const two = { ...system, deps: { ...deps, weir: { ...deps.weir, tasks } } };
    await bodies(two, 3);
    await bodies(two, 3, 'broken', 'g/b');
    await changePause(deps, { pool: 'p', pause: { admission: 'refuse' }, by: 'test' });
    await startRedrive(two.deps, request);
    // Pool q has no queue here: its tasks are made all the same, and due.
    expect(await continueRedrive(two.deps, soon(two, 1_500))).toBe(3);
    expect(await deps.records.readRedrive()).toMatchObject({ status: 'running', redriven: 3, held: 3 });
    await changePause(deps, { pool: 'p', pause: undefined, by: 'test' });
    expect(await continueRedrive(two.deps, soon(two, 3_000))).toBe(3);
    expect(await deps.records.readRedrive()).toMatchObject({ status: 'done', redriven: 6, held: 0 });
  });

  test('a dead task is done again where its api is now', async () => {
    const system = await openSystem({ pool: { running: 5, pending: 50 } });
    const [dead] = await bodies(system, 1);
    if (dead === undefined) throw new Error('expected a dead task');
    const { deps } = system;
    const task = deps.weir.tasks['g/a'];
    if (task === undefined) throw new Error('expected g/a');
    const tasks = { 'g/a': { ...task, pool: 'q', permits: 3 } };
    expect(await redrive({ ...deps, weir: { ...deps.weir, tasks } }, dead)).toEqual({ kind: 'redriven' });
    const again = (await deps.records.read(dead))?.redrivenAs;
    const record = await deps.records.read({ tenant: 't', id: again as never });
    expect(record).toMatchObject({ pool: 'q', permits: 3, redriveOf: dead.id });
    expect(record?.tiers).toEqual(tiersFor({ pool: 'q' }));
  });

  test('keeps its pace, and stops when it is told to', async () => {
    const system = await openSystem({ pool: { running: 5, pending: 500 } });
    await bodies(system, 60);
    await startRedrive(system.deps, { ...request, perSecond: 10 });
    const begun = performance.now();
    expect(await continueRedrive(system.deps, soon(system, 1_000))).toBeLessThanOrEqual(11);
    expect(performance.now() - begun).toBeGreaterThan(700);
    expect(await stopRedrive(system.deps)).toMatchObject({ status: 'stopped' });
    expect(await continueRedrive(system.deps, soon(system))).toBe(0);
    expect(await stopRedrive(system.deps)).toBeUndefined();
  });

  test('tasks that die after it began are left alone', async () => {
    const system = await openSystem({
      pool: { running: 1, pending: 1 },
      task: { retry: { attempts: 1 } },
      run: () => Promise.reject(new Error('always')),
    });
    await bodies(system, 5);
    await startRedrive(system.deps, request);
    let redriven = 0;
    for (let run = 1; run <= 5; run++) {
      redriven += await continueRedrive(system.deps, soon(system, 500));
      await drain(system);
    }
    expect(redriven).toBe(5);
    expect(await system.deps.records.readRedrive()).toMatchObject({ status: 'done', redriven: 5 });
    expect(await letters(system)).toHaveLength(5);
  });
});
