import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { addMs, second } from '../../lib/domain/time.ts';
import { continueRedrive, startRedrive } from '../../lib/operations/redrive-job.ts';
import { drain, heldLeases, openSystem } from '../support/deps.ts';
import { taskRecord } from '../support/records.ts';

const running = 5;
const count = 1_000;

test('a thousand dead tasks on five slots: never more than five run, each is done again once, and twice does nothing more', async () => {
  const ran = new Map<string, number>();
  let now = 0;
  let most = 0;
  const system = await openSystem({
    pool: { running, pending: 50 },
    run: async ({ input }) => {
      const { n } = input as { n: string };
      ran.set(n, (ran.get(n) ?? 0) + 1);
      now++;
      most = Math.max(most, now);
      await sleep(400);
      now--;
    },
  });
  const { records, clock, gate } = system.deps;
  const deadline = () => addMs(clock.now(), 10 * second);
  const bury = async (n: number) => {
    const record = taskRecord({ input: JSON.stringify({ n: String(n) }) });
    await records.create(record, { deadline: deadline() });
    const end = { finishedAt: clock.now(), callbackUrl: undefined };
    await records.giveUp(record, { code: 'broken', message: 'it broke' }, end);
  };
  for (let at = 0; at < count; at += 50) await Promise.all(Array.from({ length: 50 }, (_, n) => bury(at + n)));
  const request = { filter: { code: 'broken' }, perSecond: 200, by: 'test' };
  expect(await startRedrive(system.deps, { ...request, dryRun: true })).toMatchObject({ matched: count });
  expect(await startRedrive(system.deps, { ...request, dryRun: false })).toMatchObject({ kind: 'started' });

  let done = false;
  let mostHeld = 0;
  const watching = (async () => {
    while (!done) {
      const { slots } = await gate.ledger([{ tier: 'pool', name: 'p' }]);
      mostHeld = Math.max(mostHeld, slots.length);
      await sleep(10);
    }
  })();
  const workers = Array.from({ length: 8 }, async () => {
    while (!done) await drain(system);
  });
  while ((await records.readRedrive())?.status === 'running')
    await continueRedrive(system.deps, addMs(clock.now(), 10 * second));
  await expect.poll(() => ran.size, { timeout: 120_000, interval: 500 }).toBe(count);
  done = true;
  await Promise.all([watching, ...workers]);
  expect([...ran.values()].every((times) => times === 1)).toBe(true);
  expect(most).toBeLessThanOrEqual(running);
  expect(mostHeld).toBeLessThanOrEqual(running);
  expect(mostHeld).toBe(running);
  expect(await records.readRedrive()).toMatchObject({ status: 'done', redriven: count, joined: 0, refused: 0 });
  expect(await startRedrive(system.deps, { ...request, dryRun: false })).toMatchObject({ matched: 0 });
  expect(await continueRedrive(system.deps, addMs(clock.now(), 5 * second))).toBe(0);
  expect(await heldLeases(system)).toEqual([]);
  console.log(`${count} redriven; at most ${most} handlers and ${mostHeld} slots at once`);
}, 400_000);
