import { expect, test } from 'vitest';
import { day } from '../../lib/domain/time.ts';
import { admit } from '../../lib/operations/admit.ts';
import { changeLimits, type LimitsChange, readLimits } from '../../lib/operations/limits.ts';
import { openSystem, post, type System } from '../support/deps.ts';
import { leftOf } from '../support/rates.ts';

function change({ deps }: System, rates: unknown, over: Partial<LimitsChange> = {}) {
  return changeLimits(deps, { how: 'merge', body: { rates }, dryRun: false, by: 'somebody', ...over });
}

let posted = 0;

async function kinds(system: System, count: number): Promise<Record<string, number>> {
  const all = await Promise.all(Array.from({ length: count }, () => admit(system.deps, post(system, { n: ++posted }))));
  const counts: Record<string, number> = {};
  for (const { kind } of all) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

const off = { 'per-day': { identity: 'global' } } as const;
const window = { algorithm: 'fixed-window', periodMs: day, calendar: true } as const;

async function open(rates: NonNullable<Parameters<typeof openSystem>[0]>['rates'] = off): Promise<System> {
  return openSystem({ pool: { running: 50, pending: 200 }, rates });
}

test('a rule that is declared without numbers is off; set, it counts from the next decision on; null takes it back', async () => {
  const system = await open();
  expect(await kinds(system, 30)).toEqual({ admitted: 30 });
  const set = await change(system, { 'per-day': { ...window, limit: 20 } });
  expect(set).toMatchObject({ kind: 'changed', view: { version: 1, limits: { rates: { 'per-day': { limit: 20 } } } } });
  expect(await kinds(system, 40)).toEqual({ admitted: 20, rate_limited: 20 });
  await change(system, { 'per-day': null });
  expect(await readLimits(system.deps)).toMatchObject({ version: 2, overrides: {}, limits: { rates: {} } });
  expect(await kinds(system, 5)).toEqual({ admitted: 5 });
});

test('what was used stays used when a limit is raised or lowered', async () => {
  for (const numbers of [window, { algorithm: 'token-bucket', periodMs: day }, { algorithm: 'gcra', periodMs: day }]) {
    const system = await open();
    await change(system, { 'per-day': { ...numbers, limit: 10 } });
    expect(await kinds(system, 4)).toEqual({ admitted: 4 });
    await change(system, { 'per-day': { limit: 20 } });
    // Moments of `gcra` stay what they were: what took a tenth of a day takes as many of the shorter intervals.
    expect(await leftOf(system.deps.gate, 'per-day')).toBe(numbers.algorithm === 'gcra' ? 12 : 16);
    await change(system, { 'per-day': { limit: 2 } });
    expect(await kinds(system, 3)).toMatchObject({ rate_limited: expect.any(Number) });
  }
});

test('another algorithm starts fresh', async () => {
  const system = await open();
  await change(system, { 'per-day': { ...window, limit: 3 } });
  expect(await kinds(system, 4)).toEqual({ admitted: 3, rate_limited: 1 });
  await change(system, { 'per-day': { algorithm: 'token-bucket', limit: 3, periodMs: day, calendar: null } });
  expect(await kinds(system, 4)).toEqual({ admitted: 3, rate_limited: 1 });
});

test('single numbers stand over the configured ones', async () => {
  const system = await open({ 'per-day': { identity: 'global', ...window, limit: 2 } });
  await change(system, { 'per-day': { limit: 3 } });
  expect(await readLimits(system.deps)).toMatchObject({ limits: { rates: { 'per-day': { ...window, limit: 3 } } } });
  expect(await kinds(system, 5)).toEqual({ admitted: 3, rate_limited: 2 });
  await change(system, { 'per-day': null });
  expect(await kinds(system, 1)).toEqual({ rate_limited: 1 });
});

test('a rule that names its algorithm has these numbers alone', async () => {
  const system = await open({
    'per-day': { identity: 'global', algorithm: 'token-bucket', limit: 9, burst: 9, periodMs: day },
  });
  expect(await change(system, { 'per-day': { ...window, limit: 2 } })).toMatchObject({
    kind: 'changed',
    view: { limits: { rates: { 'per-day': { ...window, limit: 2 } } } },
  });
  expect(await kinds(system, 3)).toEqual({ admitted: 2, rate_limited: 1 });
});

test('a dry run changes nothing, an earlier version can be set again, and replacing takes back what it does not name', async () => {
  const system = await open();
  const five = { 'per-day': { ...window, limit: 5 } };
  expect(await change(system, five, { dryRun: true })).toMatchObject({ kind: 'would_change', view: { version: 1 } });
  expect(await readLimits(system.deps)).toMatchObject({ version: 0 });
  await change(system, five);
  await change(system, {}, { how: 'replace' });
  expect(await kinds(system, 9)).toEqual({ admitted: 9 });
  const first = await readLimits(system.deps, 1);
  await changeLimits(system.deps, { how: 'replace', body: first?.overrides, dryRun: false, by: 'x' });
  expect(await kinds(system, 9)).toEqual({ admitted: 5, rate_limited: 4 });
});

test.each<[unknown, string, string]>([
  [{ nope: { ...window, limit: 1 } }, 'rates.nope', 'expected one of per-day'],
  [{ 'per-day': 3 }, 'rates.per-day', 'expected an object, got 3'],
  [{ 'per-day': { limit: 3 } }, 'rates.per-day.algorithm', 'got nothing'],
  [
    { 'per-day': { ...window, limit: -1 } },
    'rates.per-day.limit',
    'expected a whole number from 0 to 1000000000, got -1',
  ],
  [{ 'per-day': { ...window, limit: '2' } }, 'rates.per-day.limit', 'got "2"'],
  [{ 'per-day': { ...window, limit: 1, periodMs: 0 } }, 'rates.per-day.periodMs', 'from 1 to 2678400000, got 0'],
  [{ 'per-day': { ...window, limit: 1, burst: 2 } }, 'rates.per-day.burst', 'only token-bucket and gcra have one'],
  [{ 'per-day': { ...window, limit: 1, period: 2 } }, 'rates.per-day.period', 'expected one of algorithm, limit'],
  [{ 'per-day': { ...window, limit: 1, periodMs: 7_000 } }, 'rates.per-day.calendar', 'divides a day'],
  [{ 'per-day': { algorithm: 'gcra', limit: 0, periodMs: 1 } }, 'rates.per-day.limit', 'from 1 to'],
])('%j is refused by its path', async (rates, path, message) => {
  const system = await open();
  const changed = await change(system, rates);
  expect(changed).toMatchObject({ kind: 'faults' });
  const faults = changed.kind === 'faults' ? changed.faults : [];
  expect(faults.map((fault) => `${fault.path}: ${fault.message}`).join('\n')).toContain(`${path}: `);
  expect(faults.map((fault) => fault.message).join('\n')).toContain(message);
});
