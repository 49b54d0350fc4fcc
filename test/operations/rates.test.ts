import { expect, test } from 'vitest';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import type { WeirConfig } from '../../lib/config.ts';
import { day } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { expire } from '../../lib/operations/expire.ts';
import { reconcile } from '../../lib/operations/reconcile.ts';
import { releaseEnded } from '../../lib/operations/release.ts';
import { Unavailable } from '../../lib/ports.ts';
import { TaskError } from '../../lib/task.ts';
import { accept, drain, openSystem, post } from '../support/deps.ts';
import { dumpCell } from '../support/gate.ts';
import { leftOf } from '../support/rates.ts';

/** A rule of everybody together, whose window ends in no test. */
function perDay(limit: number): NonNullable<WeirConfig['rates']> {
  return { 'per-day': { identity: 'global', algorithm: 'fixed-window', limit, periodMs: day, calendar: true } };
}

const roomy = { running: 50, pending: 100 };

test.each([
  { algorithm: 'fixed-window', limit: 20, periodMs: day, calendar: true },
  { algorithm: 'token-bucket', limit: 20, periodMs: day },
  { algorithm: 'token-bucket', limit: 0, burst: 20, periodMs: day },
  { algorithm: 'gcra', limit: 20, periodMs: day },
] as const)(
  'of forty posts at once %j admits exactly twenty, and the others hear when to come back',
  async (numbers) => {
    const system = await openSystem({ pool: roomy, rates: { r: { identity: 'ip', ...numbers } } });
    const all = await Promise.all(Array.from({ length: 40 }, (_, n) => admit(system.deps, post(system, { n }))));
    const refused = all.filter((each) => each.kind === 'rate_limited');
    expect(all.filter(({ kind }) => kind === 'admitted')).toHaveLength(20);
    expect(refused).toHaveLength(20);
    for (const { short, retryAfterMs, rates } of refused) {
      expect([short, rates[0]?.remaining, rates[0]?.limit]).toEqual(['r', 0, 20]);
      expect(retryAfterMs).toBeGreaterThan(0);
    }
    // Another client has a budget of its own.
    expect(await admit(system.deps, post(system, { n: 99 }, { ip: '192.0.2.2' }))).toMatchObject({ kind: 'admitted' });
  },
);

test('a post that capacity refuses is charged nothing: with two a day and one slot, A runs, B is refused, C is admitted', async () => {
  const system = await openSystem({ pool: { running: 1, pending: 0 }, rates: perDay(2) });
  await accept(system, { task: 'A' });
  expect(await admit(system.deps, post(system, { task: 'B' }))).toMatchObject({ kind: 'rejected' });
  await drain(system);
  await accept(system, { task: 'C' });
  await drain(system);
  expect(await admit(system.deps, post(system, { task: 'D' }))).toMatchObject({
    kind: 'rate_limited',
    short: 'per-day',
  });
});

test('what any limit refuses leaves every key as it is', async () => {
  const rates = { ...perDay(3), 'per-ip': { ...perDay(1)['per-day'], identity: 'ip' as const } };
  const system = await openSystem({ pool: { running: 1, pending: 1 }, rates });
  await accept(system, { n: 1 });
  const before = await dumpCell(system.connection, system.stage);
  expect(await admit(system.deps, post(system, { n: 2 }))).toMatchObject({ kind: 'rate_limited', short: 'per-ip' });
  expect(await dumpCell(system.connection, system.stage)).toBe(before);
  await admit(system.deps, post(system, { n: 3 }, { ip: '192.0.2.3' }));
  const full = await dumpCell(system.connection, system.stage);
  expect(await admit(system.deps, post(system, { n: 4 }, { ip: '192.0.2.4' }))).toMatchObject({ kind: 'rejected' });
  expect(await dumpCell(system.connection, system.stage)).toBe(full);
});

test('who joins a task or reads its result is charged nothing', async () => {
  const system = await openSystem({ pool: roomy, rates: perDay(2) });
  await accept(system, {});
  for (let n = 0; n < 5; n++) expect((await admit(system.deps, post(system, {}))).kind).toBe('joined');
  await drain(system);
  expect((await admit(system.deps, post(system, {}))).kind).toBe('reused');
  expect(await leftOf(system.deps.gate, 'per-day')).toBe(1);
  await accept(system, { other: 1 });
  // Also at a limit that lets nobody else in.
  expect((await admit(system.deps, post(system, { other: 1 }))).kind).toBe('joined');
});

test('a task that is cancelled before it ran gets its charge back, once; one that ran does not', async () => {
  const system = await openSystem({ pool: roomy, rates: perDay(5) });
  const first = await accept(system, { n: 1 });
  const second = await accept(system, { n: 2 });
  expect(first.charges).toMatchObject([{ rule: 'per-day', identity: '[]', cost: 'requests', amount: 1 }]);
  await drain(system);
  const waits = await accept(system, { n: 3 });
  expect(await leftOf(system.deps.gate, 'per-day')).toBe(2);
  await Promise.all([cancel(system.deps, waits), cancel(system.deps, waits), cancel(system.deps, second)]);
  expect(await leftOf(system.deps.gate, 'per-day')).toBe(3);
  const ended = await system.deps.records.read(waits);
  if (ended === undefined) throw new Error('expected the cancelled task');
  await Promise.all([releaseEnded(system.deps, ended), releaseEnded(system.deps, ended)]);
  await reconcile(system.deps);
  expect(await leftOf(system.deps.gate, 'per-day')).toBe(3);
});

test('a task that expires before it ran gets its charge back', async () => {
  const system = await openSystem({ pool: roomy, rates: perDay(5) });
  const record = await accept(system, {});
  await expire(system.deps, record);
  await expire(system.deps, record);
  expect(await leftOf(system.deps.gate, 'per-day')).toBe(5);
});

test('an admission that another request was faster than is undone with its charge', async () => {
  const system = await openSystem({ pool: roomy, rates: perDay(5) });
  const record = await accept(system, {});
  const lock = cellKeys(system.stage).lock(record.dedupKey);
  await system.connection.call('forget', (client) => client.del(lock));
  expect(await admit(system.deps, post(system, {}))).toMatchObject({ kind: 'joined', record: { id: record.id } });
  expect(await leftOf(system.deps.gate, 'per-day')).toBe(4);
});

test('a quota of tokens: charged as estimated, then as it truly was; the last word stands, and a retry that says the same again counts once', async () => {
  const said: number[] = [];
  const system = await openSystem({
    pool: roomy,
    rates: {
      tokens: { identity: 'global', cost: 'tokens', algorithm: 'token-bucket', limit: 0, burst: 2_000, periodMs: day },
    },
    task: { costs: { tokens: (input: { words: number }) => input.words * 1.3 }, retry: { firstMs: 1 } },
    run: async ({ input, ctx }) => {
      const { tokens } = input as { tokens: number };
      said.push(tokens);
      await ctx.settle({ tokens: 700 });
      await ctx.settle({ tokens });
      await ctx.settle({ tokens });
      if (ctx.attempt === 1) throw new TaskError('again', 'once more', { retryable: true });
      return null;
    },
  });
  const record = await accept(system, { words: 770, tokens: 812 });
  expect(record.charges).toMatchObject([{ rule: 'tokens', cost: 'tokens', amount: 1_001 }]);
  expect(await leftOf(system.deps.gate, 'tokens')).toBe(999);
  await drain(system);
  expect(said).toEqual([812, 812]);
  expect(await leftOf(system.deps.gate, 'tokens')).toBe(1_188);
  // More than estimated is owed, down to one burst: what is left is none, and 1188 − (3300 − 1) tokens are missing.
  await accept(system, { words: 0.5, tokens: 3_300 });
  await drain(system);
  expect(await leftOf(system.deps.gate, 'tokens')).toBe(0);
  expect(await admit(system.deps, post(system, { words: 1, tokens: 1 }))).toMatchObject({ kind: 'rate_limited' });
  expect(await admit(system.deps, post(system, { words: 2_000, tokens: 1 }))).toMatchObject({
    kind: 'too_costly',
    rule: 'tokens',
    limit: 2_000,
  });
  expect(await dumpCell(system.connection, system.stage)).not.toContain(':charges:');
});

test('a handler hears at once of a cost its task type does not have, and not at all that Redis is away', async () => {
  const errors: unknown[] = [];
  const system = await openSystem({
    pool: roomy,
    rates: { r: { identity: 'global', cost: 'tokens', algorithm: 'gcra', limit: 9, periodMs: day } },
    task: { costs: { tokens: () => 1 } },
    run: async ({ ctx }) => {
      await ctx.settle({ token: 1 }).catch((error: unknown) => errors.push(String(error)));
      await ctx.settle({ tokens: -1 }).catch((error: unknown) => errors.push(String(error)));
      await ctx.settle({ tokens: 5 });
    },
  });
  await accept(system, {});
  const gate = { ...system.deps.gate, settle: () => Promise.reject(new Unavailable('redis', 'away')) };
  expect(await drain({ ...system, deps: { ...system.deps, gate } })).toEqual([{ kind: 'ack', because: 'succeeded' }]);
  expect(errors).toEqual([
    'TypeError: settle: expected one of the costs of g/a (tokens), got token',
    'RangeError: settle: expected tokens of 0 or more, got -1',
  ]);
});
