import { expect, test } from 'vitest';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { day } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { expire } from '../../lib/operations/expire.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { work } from '../../lib/operations/work.ts';
import { diesAt } from '../support/crash.ts';
import { deleteKeys, drain, later, openSystem, post, type System } from '../support/deps.ts';
import { leftOf } from '../support/rates.ts';

const limit = 5;
const rates = { r: { identity: 'global', algorithm: 'token-bucket', limit: 0, burst: limit, periodMs: day } } as const;

/** A task that waits, in a system of which another one has used one of five already. */
async function queued(): Promise<{ system: System; record: TaskRecord }> {
  const system = await openSystem({ rates });
  await admit(system.deps, post(system, { first: true }));
  await drain(system);
  const admission = await admit(system.deps, post(system, {}));
  if (admission.kind !== 'admitted') throw new Error(`expected admitted, got ${admission.kind}`);
  expect(await leftOf(system.deps.gate, 'r')).toBe(limit - 2);
  return { system, record: admission.record };
}

test.each(['before', 'after'] as const)(
  'a process that dies %s any call of a cancel: the charge comes back exactly once',
  async (when) => {
    for (let at = 1, died = true; died; at++) {
      const { system, record } = await queued();
      died = await diesAt(system.deps, at, when, (deps) => cancel(deps, record));
      await cancel(system.deps, record);
      for (let run = 1; run <= 2; run++) await reconcile(later(system, 10_000));
      expect(await leftOf(system.deps.gate, 'r'), `died ${when} call ${at}`).toBe(limit - 1);
    }
  },
  120_000,
);

test.each(['before', 'after'] as const)(
  'a process that dies %s any call of an expiry: the charge comes back exactly once, by whoever sees the end next',
  async (when) => {
    for (let at = 1, died = true; died; at++) {
      const { system, record } = await queued();
      died = await diesAt(system.deps, at, when, (deps) => expire(deps, record));
      await expire(system.deps, record);
      const delivery = await system.queue.receive();
      const pool = system.deps.weir.pools.p;
      if (delivery === undefined || pool === undefined) throw new Error('expected its message');
      for (let run = 1; run <= 2; run++) await work(system.deps, pool, delivery);
      expect(await leftOf(system.deps.gate, 'r'), `died ${when} call ${at}`).toBe(limit - 1);
    }
  },
  120_000,
);

// A known limit: whoever dies between admit and the record leaves a charge that nobody knows of, as long as its window lasts.
test.each(['before', 'after'] as const)(
  'a process that dies %s any call of a post: the same post is charged once, and what the dead one took at most once',
  async (when) => {
    for (let at = 1, died = true; died; at++) {
      const system = await openSystem({ rates });
      died = await diesAt(system.deps, at, when, (deps) => admit(deps, post(system, {})));
      expect(await deleteKeys(system, /^lock:/)).toBeLessThanOrEqual(1);
      const again = await admit(system.deps, post(system, {}));
      expect(['admitted', 'joined']).toContain(again.kind);
      const used = limit - ((await leftOf(system.deps.gate, 'r')) ?? 0);
      expect(used, `died ${when} call ${at}`).toBeGreaterThanOrEqual(1);
      expect(used, `died ${when} call ${at}`).toBeLessThanOrEqual(again.kind === 'joined' ? 1 : 2);
    }
  },
  120_000,
);
