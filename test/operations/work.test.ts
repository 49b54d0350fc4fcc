import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { addMs } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { work } from '../../lib/operations/work.ts';
import { maxResultBytes, TaskError } from '../../lib/task.ts';
import { crashing } from '../support/crash.ts';
import { accept, drain, heldLeases, openSystem, post, type System, take } from '../support/deps.ts';
import { asPart } from '../support/uploads.ts';

function gateOpening() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('one message', () => {
  test('runs the task with its input and file, writes the result and gives everything back', async () => {
    const system = await openSystem({
      run: async ({ input, files, ctx }) => ({
        input,
        text: Buffer.from((await files.document?.bytes()) ?? []).toString(),
        attempt: ctx.attempt,
      }),
    });
    const file = asPart(Buffer.from('hello'), 'a.txt');
    const admission = await admit(system.deps, post(system, { a: [1] }, { file }));
    const record = admission.kind === 'admitted' ? admission.record : undefined;
    expect(await drain(system)).toEqual([{ kind: 'ack', because: 'succeeded' }]);
    const ended = await system.deps.records.read({ tenant: 't', id: record?.id as never });
    expect(JSON.parse(ended?.result ?? '')).toEqual({ input: { a: [1] }, text: 'hello', attempt: 1 });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('delivered again after the end, it is acknowledged and nothing runs', async () => {
    let runs = 0;
    const system = await openSystem({ run: async () => ++runs });
    const { id } = await accept(system);
    for (let send = 0; send < 3; send++) await system.deps.messages.send('p', { tenant: 't', id, send: 1 }, 'g');
    await drain(system);
    expect(runs).toBe(1);
  });

  test('delivered twice at once, one runs', async () => {
    let runs = 0;
    const { opened, open } = gateOpening();
    const system = await openSystem({
      run: async () => {
        runs++;
        await opened;
      },
    });
    const { id } = await accept(system);
    await system.deps.messages.send('p', { tenant: 't', id, send: 1 }, 'g');
    const [one, two] = [await take(system), await take(system)];
    const both = Promise.all([one, two].map(({ pool, delivery }) => work(system.deps, pool, delivery)));
    await expect.poll(() => runs).toBe(1);
    open();
    const kinds = (await both).map(({ because }) => because).sort();
    expect(kinds[1]).toBe('succeeded');
    expect(['held', 'running', 'succeeded', 'start refused: running', 'start refused: succeeded']).toContain(kinds[0]);
    expect(runs).toBe(1);
  });

  test('without a free slot it comes back, no attempt counted; at its last receive the task is left to reconcile', async () => {
    const system = await openSystem({ pool: { running: 0, pending: 3 } });
    const { id } = await accept(system);
    const { pool, delivery } = await take(system);
    expect(await work(system.deps, pool, delivery)).toMatchObject({ kind: 'defer', because: 'busy' });
    expect(
      await work(system.deps, pool, { ...delivery, receiveCount: system.deps.weir.times.maxReceiveCount }),
    ).toEqual({
      kind: 'ack',
      because: 'busy, parked',
    });
    const record = await system.deps.records.read({ tenant: 't', id });
    expect(record).toMatchObject({ status: 'queued', attempt: 0, failures: 0 });
    expect(record?.dueAt).toBeLessThanOrEqual(Date.now());
    expect(await reconcile(system.deps)).toMatchObject({ sent: 1 });
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({ sends: 2 });
    expect(await work(system.deps, pool, delivery)).toEqual({
      kind: 'ack',
      because: 'busy, and a newer message was sent',
    });
  });

  test('a slot that frees while it waits is taken at once', async () => {
    const { opened, open } = gateOpening();
    const system = await openSystem({
      pool: { running: 1, pending: 3 },
      run: async ({ input }) => ((input as { n: number }).n === 1 ? opened : 0),
    });
    await accept(system, { n: 1 });
    await accept(system, { n: 2 });
    const [one, two] = [await take(system), await take(system)];
    const first = work(system.deps, one.pool, one.delivery);
    await sleep(100);
    const second = work(system.deps, two.pool, two.delivery);
    await sleep(100);
    open();
    expect([await first, await second]).toMatchObject([{ because: 'succeeded' }, { because: 'succeeded' }]);
  });

  test('past its start deadline it expires and its seat is free', async () => {
    const system = await openSystem({ pool: { running: 1, pending: 0 } });
    const { id, tiers } = await accept(system);
    const { pool, delivery } = await take(system);
    const late = { ...system.deps.clock, now: () => addMs(system.deps.clock.now.call(undefined), 3_600_000 + 6_000) };
    expect(await work({ ...system.deps, clock: late }, pool, delivery)).toEqual({ kind: 'ack', because: 'expired' });
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({ status: 'expired' });
    expect(await system.deps.gate.peek({ dedupKey: undefined, tiers })).toMatchObject({ kind: 'open' });
  });
});

describe('how a handler ends', () => {
  test('a fatal error fails the task with its code at the first attempt', async () => {
    const system = await openSystem({ run: () => Promise.reject(new TaskError('damaged', 'it is damaged')) });
    const { id } = await accept(system);
    await drain(system);
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'damaged', message: 'it is damaged' },
    });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('an unknown error is retried within its budget, and its text is not shown', async () => {
    const system = await openSystem({
      task: { retry: { attempts: 2 } },
      run: () => Promise.reject(new Error('password=x')),
    });
    const { id } = await accept(system);
    const ended = async () => {
      await drain(system);
      return (await system.deps.records.read({ tenant: 't', id }))?.status;
    };
    await expect.poll(ended, { timeout: 30_000 }).toBe('failed');
    const record = await system.deps.records.read({ tenant: 't', id });
    expect(record).toMatchObject({
      attempt: 2,
      failures: 1,
      error: { code: 'handler_error', message: 'the handler failed' },
    });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('a retry keeps the seat, gives the slot back and waits for its time', async () => {
    const system = await openSystem({ pool: { running: 1, pending: 0 }, run: () => Promise.reject(new Error('x')) });
    const { id, tiers } = await accept(system);
    const { pool, delivery } = await take(system);
    const worked = await work(system.deps, pool, delivery);
    expect(worked).toMatchObject({ kind: 'defer', because: 'retry' });
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({
      status: 'queued',
      attempt: 1,
      failures: 1,
    });
    const { tiers: uses } = await system.deps.gate.observe({ tiers: tiers.slice(0, 1) });
    expect(uses[0]).toMatchObject({ inSystem: { inUse: 1 }, running: { inUse: 0 } });
  });

  test('a handler that outlasts its time is aborted; one that ignores that ends with its process', async () => {
    const obedient = await openSystem({
      task: { timeoutMs: 300, retry: { attempts: 1 } },
      run: ({ ctx }) => sleep(60_000, undefined, { signal: ctx.signal }),
    });
    const { id } = await accept(obedient);
    await drain(obedient);
    expect(await obedient.deps.records.read({ tenant: 't', id })).toMatchObject({
      status: 'failed',
      error: { code: 'timeout' },
    });
    expect(obedient.exits).toEqual([]);

    const stubborn = await openSystem({ task: { timeoutMs: 300, retry: { attempts: 1 } }, run: () => sleep(6_000) });
    const other = await accept(stubborn);
    await drain(stubborn);
    expect(await stubborn.deps.records.read({ tenant: 't', id: other.id })).toMatchObject({
      status: 'failed',
      error: { code: 'timeout' },
    });
    expect(stubborn.exits).toHaveLength(1);
    expect(await heldLeases(stubborn)).toEqual([]);
  });

  test.each<[string, () => unknown, string]>([
    ['what JSON cannot hold', () => 1n, 'invalid_result'],
    ['more than a result may have', () => 'x'.repeat(maxResultBytes - 1), 'result_too_large'],
  ])('a result of %s fails the task', async (_what, value, code) => {
    const system = await openSystem({ run: async () => value() });
    const { id } = await accept(system);
    await drain(system);
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code },
    });
  });

  test.each<[string, () => unknown]>([
    ['undefined', () => undefined],
    ['what has no text', () => Object.create(null)],
    ['an error with a number for a code', () => new TaskError(1 as never, 'exit code 1')],
    ['an error with a code no client can switch on', () => new TaskError('Not A Code', 'x')],
    [
      'an error without a message',
      () => Object.assign(new TaskError('x', 'x'), { code: undefined, message: undefined }),
    ],
  ])('%s is thrown: the task fails readably', async (_what, thrown) => {
    const system = await openSystem({ task: { retry: { attempts: 1 } }, run: () => Promise.reject(thrown()) });
    const { id } = await accept(system);
    await drain(system);
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({
      status: 'failed',
      error: { code: 'handler_error', message: 'the handler failed' },
    });
  });

  test('progress is kept to one write a second, the last one wins', async () => {
    const system = await openSystem({
      run: async ({ ctx }) => {
        ctx.progress(Number.NaN, ['not', 'text'] as never);
        for (let percent = 0; percent <= 100; percent++) ctx.progress(percent, `at ${percent}`);
        await sleep(1_200);
      },
    });
    const { id } = await accept(system);
    const { pool, delivery } = await take(system);
    await work(system.deps, pool, delivery);
    const record = await system.deps.records.read({ tenant: 't', id });
    expect(record?.progress).toEqual({ percent: 100, message: 'at 100' });
    // create, start, two of progress, finish
    expect(record?.revision).toBe(5);
  });
});

describe('a lease', () => {
  test('outlives its own length by heartbeats', async () => {
    const system = await openSystem({ run: () => sleep(4_500) });
    const { id } = await accept(system);
    await drain(system);
    expect(await system.deps.records.read({ tenant: 't', id })).toMatchObject({ status: 'succeeded', attempt: 1 });
  }, 20_000);

  test('that is lost aborts the handler, and what it still writes is refused', async () => {
    const aborted = gateOpening();
    const system = await openSystem({
      run: async ({ ctx }) => {
        ctx.signal.addEventListener('abort', aborted.open);
        await aborted.opened;
        ctx.progress(50);
        return 'late';
      },
    });
    const record = await accept(system);
    const { pool, delivery } = await take(system);
    const working = work(system.deps, pool, delivery);
    await expect.poll(async () => (await system.deps.records.read(record))?.status).toBe('running');
    const running = await system.deps.records.read(record);
    const key = { ...record, attempt: 1, holder: running?.holder ?? '' };
    await system.deps.gate.release({ ...record, nonce: key.holder });
    await system.deps.records.requeue(key, 'lost', { runAt: system.deps.clock.now(), deadline: record.deadline });
    await working;
    const after = await system.deps.records.read(record);
    expect(after).toMatchObject({ status: 'queued', attempt: 1, lostLeases: 1 });
    expect(after?.result).toBeUndefined();
    expect(after?.progress).toBeUndefined();
  });
});

describe('a worker that dies at any call', () => {
  test.each(['before', 'after'] as const)(
    '%s it: the task ends once and nothing stays held',
    async (when) => {
      const probe = await openSystem();
      await accept(probe);
      const counted = crashing(probe.deps, 1_000, when);
      const first = await take(probe);
      await work(counted.deps, first.pool, first.delivery);
      expect(counted.calls()).toBeGreaterThanOrEqual(7);
      await Promise.all(Array.from({ length: counted.calls() }, (_, index) => dieAt(index + 1, when)));
    },
    120_000,
  );
});

async function dieAt(at: number, when: 'before' | 'after'): Promise<void> {
  const system = await openSystem();
  const record = await accept(system);
  const { pool, delivery } = await take(system);
  await work(crashing(system.deps, at, when).deps, pool, delivery).catch(() => undefined);
  await system.deps.messages.setVisibility('p', delivery.receiptHandle, 0).catch(() => undefined);
  const ended = async () => {
    await reconcile(system.deps);
    await drain(system);
    return (await system.deps.records.read(record))?.status;
  };
  await expect.poll(ended, { timeout: 30_000, message: `died ${when} call ${at}` }).toBe('succeeded');
  await expect.poll(() => openLeases(system), { timeout: 30_000, message: `died ${when} call ${at}` }).toEqual([0, 0]);
}

/** Seats and slots of the pool that are alive: what a dead worker held may lapse by itself. */
async function openLeases({ deps }: System): Promise<number[]> {
  const { tiers } = await deps.gate.observe({ tiers: [{ tier: 'pool', name: 'p' }] });
  return [tiers[0]?.inSystem.inUse ?? -1, tiers[0]?.running.inUse ?? -1];
}
