import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { addMs, second } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { drain, heldLeases, openSystem, post } from './deps.ts';

const heartbeatMs = second;
/** For a beat that waits behind others on a loaded machine. */
const roomMs = 1_500;

/**
 * Posts `count` tasks, cancels each at a random moment around its start and its end, and expects of each: one terminal state, which the answer to the
 * cancel named and nothing changed since; no handler of a cancelled one a heartbeat later; at last nothing is held.
 */
export async function cancelAtRandom(count: number): Promise<{ cancelled: number; finished: number }> {
  const running = new Set<string>();
  const system = await openSystem({
    pool: { running: 8, pending: count },
    run: async ({ input, ctx }) => {
      running.add(ctx.taskId);
      try {
        await sleep((input as { ms: number }).ms, undefined, { signal: ctx.signal });
      } finally {
        running.delete(ctx.taskId);
      }
    },
  });
  const { deps } = system;
  let done = false;
  const consumers = Array.from({ length: 8 }, async () => {
    while (!done) await drain(system);
  });
  const one = async (n: number) => {
    const admission = await admit(deps, post(system, { n, ms: n % 3 === 0 ? 60_000 : 30 }));
    if (admission.kind !== 'admitted') throw new Error(`expected admitted, got ${admission.kind}`);
    await sleep(Math.random() * second);
    const answer = await cancel(deps, admission.record);
    if (answer.kind === 'absent') throw new Error('expected a task');
    await sleep(heartbeatMs + roomMs);
    if (answer.kind === 'cancelled') expect(running.has(answer.record.id)).toBe(false);
    return answer;
  };
  const answers: Awaited<ReturnType<typeof one>>[] = [];
  const atOnce = 30;
  for (let at = 0; at < count; at += atOnce)
    answers.push(...(await Promise.all(Array.from({ length: Math.min(atOnce, count - at) }, (_, n) => one(at + n)))));
  done = true;
  await Promise.all(consumers);
  const { clock } = deps;
  await reconcile({ ...deps, clock: { ...clock, now: () => addMs(clock.now(), 10 * second) } });
  for (const { kind, record } of answers) {
    const ended = await deps.records.read(record);
    expect(ended?.status).toBe(kind === 'cancelled' ? 'cancelled' : 'succeeded');
    expect(ended?.revision).toBe(record.revision);
  }
  expect(await heldLeases(system)).toEqual([]);
  const cancelled = answers.filter(({ kind }) => kind === 'cancelled').length;
  return { cancelled, finished: answers.length - cancelled };
}
