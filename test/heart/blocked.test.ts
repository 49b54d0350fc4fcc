import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { cancel } from '../../lib/operations/cancel.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { heldLeases, openSystem, type System } from '../support/deps.ts';
import { pool } from './start.ts';
import { runInProcess } from './worker-process.ts';

const killed = { code: null, signal: 'SIGKILL' };
/** From the moment a blocked attempt is over to its process's death: grace time and margin. */
const patienceMs = 3_000;
/** For processes that start, connect and die while other tests run. */
const slackMs = 20_000;

/** Looks at a running task until it has ended, as reconcile does, and answers everything that was seen. */
async function lookOn(system: System, { record, worked }: Awaited<ReturnType<typeof runInProcess>>) {
  const seen = { leases: new Set<string>(), alive: 0, requeued: 0 };
  let over = false;
  worked.finally(() => {
    over = true;
  });
  while (!over) {
    const lease = await system.deps.gate.alive({ ...record, nonce: record.holder });
    if (!over) seen.leases.add(lease.kind);
    const { alive, requeued, failed } = await reconcile(system.deps);
    seen.alive += alive;
    seen.requeued += requeued + failed;
    await sleep(50);
  }
  return seen;
}

describe('a handler that blocks its event loop', () => {
  test('for longer than its lease keeps it and succeeds as attempt 1; reconcile sees it alive', async () => {
    const system = await openSystem();
    const worker = await runInProcess(system, {
      input: { blockMs: pool.leaseMs + 2_000 },
      timeoutMs: 60_000,
      attempts: 1,
    });
    const seen = await lookOn(system, worker);
    expect(await worker.worked).toMatchObject({ worked: { kind: 'ack', because: 'succeeded' } });
    expect([...seen.leases]).toEqual(['alive']);
    expect(seen.alive).toBeGreaterThan(0);
    expect(seen.requeued).toBe(0);
    expect(await system.deps.records.read(worker.record)).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(await heldLeases(system)).toEqual([]);
    expect(await worker.ended).toEqual({ code: 0, signal: null });
  });

  test('past its time fails with the code of a time-out; its slots are free and its process is gone', async () => {
    const system = await openSystem();
    const begunAt = performance.now();
    const worker = await runInProcess(system, { input: { blockMs: 60_000 }, timeoutMs: 500, attempts: 1 });
    expect(await worker.ended).toEqual(killed);
    expect(performance.now() - begunAt).toBeLessThan(500 + patienceMs + slackMs);
    expect(await system.deps.records.read(worker.record)).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'timeout', message: 'the attempt took longer than 500 ms' },
    });
    expect(await heldLeases(system)).toEqual([]);
    expect(worker.output()).toContain('a handler blocks its event loop');
  });

  test('past its time goes back to the queue while its retry budget lasts: the seat stays, the slots are free', async () => {
    const system = await openSystem();
    const worker = await runInProcess(system, { input: { blockMs: 60_000 }, timeoutMs: 500, attempts: 2 });
    expect(await worker.ended).toEqual(killed);
    const record = await system.deps.records.read(worker.record);
    expect(record).toMatchObject({ status: 'queued', attempt: 1, failures: 1, lostLeases: 0 });
    expect(record?.dueAt).toBe(record?.runAt);
    const { tiers } = await system.deps.gate.observe({ tiers: [{ tier: 'pool', name: 'p' }] });
    expect(tiers[0]).toMatchObject({ inSystem: { inUse: 1 }, running: { inUse: 0 } });
    // Its message comes again by itself when the retry is due, though nobody gave it back.
    await expect
      .poll(() => system.queue.receive(), { timeout: 20_000 })
      .toMatchObject({
        message: { id: record?.id },
        receiveCount: 2,
      });
  });

  test('whose task has ended otherwise is gone with its process at the next heartbeat and the grace time', async () => {
    const system = await openSystem();
    const worker = await runInProcess(system, { input: { blockMs: 60_000 }, timeoutMs: 60_000, attempts: 2 });
    const begunAt = performance.now();
    expect(await cancel(system.deps, worker.record)).toMatchObject({ kind: 'cancelled' });
    expect(await worker.ended).toEqual(killed);
    expect(performance.now() - begunAt).toBeLessThan(pool.heartbeatMs + patienceMs + slackMs);
    expect(await system.deps.records.read(worker.record)).toMatchObject({ status: 'cancelled', failures: 0 });
    expect(await heldLeases(system)).toEqual([]);
  });

  test('whose lease went to nobody is gone with its process, and reconcile queues its task again', async () => {
    const system = await openSystem();
    const worker = await runInProcess(system, { input: { blockMs: 60_000 }, timeoutMs: 60_000, attempts: 2 });
    await system.deps.gate.release({ ...worker.record, nonce: worker.record.holder });
    expect(await worker.ended).toEqual(killed);
    await expect.poll(() => reconcile(system.deps), { timeout: 10_000 }).toMatchObject({ requeued: 1 });
    expect(await system.deps.records.read(worker.record)).toMatchObject({ status: 'queued', lostLeases: 1 });
  });
});

describe('a heartbeat thread', () => {
  test('tells the handler when the task has ended otherwise; the process lives on', async () => {
    const system = await openSystem();
    const worker = await runInProcess(system, { input: { ms: 60_000 }, timeoutMs: 60_000, attempts: 2 });
    expect(await cancel(system.deps, worker.record)).toMatchObject({ kind: 'cancelled' });
    await worker.aborted;
    expect(await worker.worked).toMatchObject({ worked: { kind: 'ack', because: 'lease lost' } });
    expect(await worker.ended).toEqual({ code: 0, signal: null });
  });

  test('that fails is replaced before the lease is over', async () => {
    const system = await openSystem();
    const worker = await runInProcess(system, {
      input: { ms: pool.leaseMs + 1_000 },
      timeoutMs: 60_000,
      attempts: 1,
      thread: 'fragile-thread.ts',
    });
    const seen = await lookOn(system, worker);
    expect([...seen.leases]).toEqual(['alive']);
    expect(await worker.worked).toMatchObject({ worked: { kind: 'ack', because: 'succeeded' } });
    expect(worker.output()).toContain('the heartbeat thread failed');
  });

  test('that cannot start costs the attempt its lease, when a lease has passed', async () => {
    const system = await openSystem();
    const begunAt = performance.now();
    const worker = await runInProcess(system, {
      input: { ms: 60_000 },
      timeoutMs: 60_000,
      attempts: 1,
      thread: 'broken-thread.ts',
    });
    await worker.aborted;
    expect(performance.now() - begunAt).toBeGreaterThan(pool.leaseMs);
    expect(await worker.worked).toMatchObject({ worked: { kind: 'ack', because: 'lease lost' } });
    await expect.poll(() => reconcile(system.deps), { timeout: 10_000 }).toMatchObject({ requeued: 1 });
  });
});
