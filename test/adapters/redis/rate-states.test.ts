import { expect, test } from 'vitest';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import { rateScript } from '../../../lib/adapters/redis/scripts/rates.ts';
import type { RateNumbers, RateRules } from '../../../lib/domain/rates.ts';
import { addMs, day, hour, minute } from '../../../lib/domain/time.ts';
import { laterThanServer, noLimits, openGate, openRedis } from '../../support/gate.ts';
import { ruleOf } from '../../support/rates.ts';

const perMinute: RateNumbers = { algorithm: 'fixed-window', limit: 9, periodMs: minute, calendar: true };
const ask = (amount = 1) => ({ asks: [{ rule: 'r', identity: '[]', amount }] });

/** A gate with rule `r`, whose clock the test moves, and its state as bytes. */
async function openRule(numbers: RateNumbers) {
  const clock = { now: laterThanServer() };
  const { gate, connection, stage } = await openGate({}, { rates: ruleOf(numbers), now: () => clock.now });
  const key = cellKeys(stage).rate({ rule: 'r', identity: '[]' });
  return {
    ...{ gate, clock },
    read: () => connection.call('read', (client) => client.getBuffer(key)),
    write: (state: Buffer | string) => connection.call('write', (client) => client.set(key, state)),
    expires: () => connection.call('expiry', (client) => client.pexpiretime(key)),
    live: (rate: RateNumbers, version = 1) =>
      gate.setLimits({ version, overrides: [], paused: {}, rates: { r: rate } }),
  };
}

function window(count: number, opened: number, ends: number): Buffer {
  const state = Buffer.alloc(25, 'w');
  for (const [index, number] of [count, opened, ends].entries()) state.writeDoubleLE(number, 1 + 8 * index);
  return state;
}

test.each([
  perMinute,
  { algorithm: 'token-bucket', limit: 9, periodMs: minute },
  { algorithm: 'gcra', limit: 9, periodMs: minute },
] as const)('of a state of another form nothing is known: %j', async (numbers) => {
  const { gate, write } = await openRule(numbers);
  const foreign = [
    '',
    'x',
    'w',
    'b',
    'g',
    'w|3|1|2',
    '12345',
    Buffer.alloc(9, 'x'),
    Buffer.alloc(25, 'x'),
    Buffer.alloc(49, 'x'),
  ];
  for (const state of foreign) {
    await write(state);
    expect(await gate.rate(ask())).toMatchObject({ kind: 'passed', rates: [{ remaining: 8 }] });
  }
});

test('a window counts on in place: its beginning, its end and the expiry of its key stay', async () => {
  const { gate, clock, read, expires } = await openRule(perMinute);
  const opened = clock.now;
  const ends = Math.floor(opened / minute) * minute + minute;
  await gate.rate(ask(2));
  expect([await read(), await expires()]).toEqual([window(2, opened, ends), ends]);
  clock.now = addMs(clock.now, 1);
  await gate.rate(ask(3));
  expect([await read(), await expires()]).toEqual([window(5, opened, ends), ends]);
});

test('a clock that stepped back makes a window begin earlier; its count stays', async () => {
  const { gate, clock, read } = await openRule({ ...perMinute, periodMs: day });
  const opened = clock.now;
  const ends = Math.floor(opened / day) * day + day;
  await gate.rate(ask());
  clock.now = addMs(opened, -1);
  await gate.rate(ask());
  const earlier = Math.floor(clock.now / day) * day + day;
  expect(await read()).toEqual(window(2, opened - 1, Math.min(ends, earlier)));
});

test('a window that is made shorter ends sooner and so does its key; its count stays', async () => {
  const { gate, clock, read, expires, live } = await openRule({ ...perMinute, periodMs: day });
  const opened = clock.now;
  await gate.rate(ask(2));
  await live(perMinute);
  await gate.rate(ask());
  const ends = Math.floor(opened / minute) * minute + minute;
  expect([await read(), await expires()]).toEqual([window(3, opened, ends), ends]);
  // Longer again: the window that runs keeps its end.
  await live({ ...perMinute, periodMs: day }, 2);
  await gate.rate(ask());
  expect([await read(), await expires()]).toEqual([window(4, opened, ends), ends]);
});

test('arguments of another length are refused', async () => {
  const connection = openRedis();
  const keys = cellKeys('lengths');
  const cell = { keys, limits: noLimits, rates: ruleOf(perMinute), lockMs: 1, startWindowMs: hour, pointerMs: 1 };
  const given = { cell, input: ask() };
  const [now = '', rules = ''] = rateScript.args(given);
  const run = (...args: (typeof now)[]) =>
    connection.call('run', (client) =>
      client.eval(rateScript.source, rateScript.keys(given).length, ...rateScript.keys(given), ...args),
    );
  await expect(run(now, String(rules).slice(1))).rejects.toThrow('BADARG rules');
  await expect(run(now, `${rules}x`)).rejects.toThrow('BADARG rules');
  await expect(run(now)).rejects.toThrow('BADARG rules');
});

test('numbers that no configuration may have are not sent', async () => {
  const wrong: RateRules = ruleOf({ algorithm: 'fixed-window', limit: 3, periodMs: 0 });
  const { gate } = await openGate({}, { rates: wrong });
  expect(() => gate.rate(ask())).toThrow('periodMs: expected a whole number');
  const { gate: right } = await openGate({}, { rates: ruleOf(perMinute) });
  expect(() => right.rate(ask(0.5))).toThrow('expected a whole number, got 0.5');
  expect(() => right.rate(ask(2 ** 31))).toThrow(RangeError);
});

function packed(letter: string, ...numbers: number[]): Buffer {
  const doubles = Buffer.alloc(8 * numbers.length);
  for (const [index, number] of numbers.entries()) doubles.writeDoubleLE(number, 8 * index);
  return Buffer.concat([Buffer.from(letter), doubles]);
}

test.each([
  ['a passed with too few numbers', packed('p', 8)],
  ['… with too many', packed('p', 8, 60_000, 1)],
  ['… with less than nothing left', packed('p', -1, 60_000)],
  ['… with half a request left', packed('p', 8.5, 60_000)],
  ['… with a moment before now', packed('p', 8, -2)],
  ['a limited with a negative version', packed('l', 1, 5, -1, 8, 60_000)],
  ['a limited without a version', packed('l', 1, 5)],
  ['… by a rule that was not asked', packed('l', 2, 5, 0, 8, 60_000)],
  ['a never without a limit', packed('n', 1)],
  ['a letter that no script says', packed('a', 0)],
  ['half a number', packed('p', 0).subarray(0, 5)],
  ['nothing', Buffer.alloc(0)],
  ['text', 'p'],
  ['no reply', null],
])('a reply that the script never gives is refused: %s', (_, raw) => {
  const keys = cellKeys('replies');
  const cell = { keys, limits: noLimits, lockMs: 1, startWindowMs: hour, pointerMs: 1 };
  expect(() => rateScript.reply(raw, { cell, input: ask() })).toThrow(/expected|Invalid/i);
});

test('a rule whose numbers are set live is told with those, any other as configured', async () => {
  const bucket: RateNumbers = { algorithm: 'token-bucket', limit: 3, periodMs: 2_000, burst: 10 };
  const gcra: RateNumbers = { algorithm: 'gcra', limit: 7, periodMs: 1_000, burst: 9 };
  const quota: RateNumbers = { algorithm: 'token-bucket', limit: 0, periodMs: hour, burst: 5 };
  const rates = Object.assign(
    ...((
      [
        ['window', perMinute],
        ['bucket', bucket],
        ['off', undefined],
        ['gcra', gcra],
        ['quota', quota],
      ] as const
    ).map(([name, numbers]) => ruleOf(numbers, { name })) as [RateRules, ...RateRules[]]),
  ) as RateRules;
  const { gate } = await openGate({}, { rates });
  const asks = Object.keys(rates).map((rule) => ({ rule, identity: '[]', amount: 1 }));
  const told = async () => {
    const reply = await gate.rate({ asks });
    return (
      reply.kind === 'passed' &&
      reply.rates.map(({ rule, limit, windowMs, remaining }) => [rule, limit, windowMs, remaining])
    );
  };
  expect(await told()).toEqual([
    ['window', 9, minute, 8],
    ['bucket', 10, 6_667, 9],
    ['gcra', 9, 1_286, 8],
    ['quota', 5, hour, 4],
  ]);
  await gate.setLimits({
    version: 1,
    overrides: [],
    paused: {},
    rates: { off: bucket, gcra: { ...gcra, burst: 20 }, window: quota },
  });
  expect(await told()).toMatchObject([
    ['window', 5, hour, expect.any(Number)],
    ['bucket', 10, 6_667, 8],
    ['off', 10, 6_667, 9],
    ['gcra', 20, 2_858, expect.any(Number)],
    ['quota', 5, hour, 3],
  ]);
});

test('calls of one turn of the event loop that leave together are each answered, also when the connection is given up meanwhile', async () => {
  const { gate } = await openRule({ ...perMinute, limit: 1_000 });
  const replies = await Promise.all(Array.from({ length: 200 }, () => gate.rate(ask())));
  const left = replies.map((reply) => (reply.kind === 'passed' ? (reply.rates[0]?.remaining ?? -1) : -1));
  expect(left.toSorted((a, b) => b - a)).toEqual(Array.from({ length: 200 }, (_, n) => 999 - n));
  const connection = openRedis();
  await connection.call('ping', (client) => client.ping());
  const { gate: torn } = await openGate({}, { connection, rates: ruleOf({ ...perMinute, limit: 1_000 }) });
  const asked = Promise.allSettled(Array.from({ length: 20 }, () => torn.rate(ask())));
  connection.discard();
  // Some may have left before; those that had not are told so within the deadline.
  for (const each of await asked) {
    if (each.status === 'rejected')
      expect(each.reason).toMatchObject({ message: expect.stringContaining('had no answer') });
    else expect(each.value.kind).toMatch(/passed|rate_limited/);
  }
  expect(await torn.rate(ask())).toMatchObject({ kind: 'passed' });
});
