import type { Cell } from '../../lib/adapters/redis/cell.ts';
import { isClients } from '../../lib/adapters/redis/keys.ts';
import { formText } from '../../lib/adapters/redis/rate-arguments.ts';
import type { Tier } from '../../lib/domain/tiers.ts';
import { hour, minute } from '../../lib/domain/time.ts';
import { samplesOf } from '../support/model/learnt.ts';
import type { Leases } from '../support/model/leases.ts';
import { chargesLastMs, rateName } from '../support/model/rates.ts';
import { nameOf, type RateState, stateOf } from '../support/model/world.ts';
import type { World } from '../support/model.ts';
import { dedupKeys, everybodysTiers, everyTier } from './place.ts';
import { everyRate } from './rate-dice.ts';
import type { Command } from './scripts.ts';

/** One thing Redis holds: how it is read, and whether what was read is what the model holds. */
export type Reading = {
  readonly command: Command;
  readonly expected: unknown;
  readonly read?: (raw: unknown) => unknown;
  /** The reply is read as a Buffer. */
  readonly binary?: boolean;
};

const absent = -2;
const forGood = -1;

/** Everything of a cell but its log, as the model has it now. */
export function readings(world: World, { keys }: Cell): Reading[] {
  const { rebuilder, locks, refusals, learnt, rates, charges } = world;
  return [
    ...forGoodHash(keys.limits, limitsHash(world)),
    ...forGoodHash(keys.holders, holdersHash(world)),
    ...liveRates(world, keys.liveRates),
    ...text(keys.rebuild, rebuilder?.nonce, rebuilder?.lastsMs),
    ...dedupKeys.flatMap(({ dedupKey }) => {
      const lock = locks.get(dedupKey);
      const value = lock && `${lock.creating ? 'creating' : 'created'}|${lock.id}|${lock.fingerprint}`;
      return text(keys.lock(dedupKey), value, lock?.lastsMs);
    }),
    ...everyTier.flatMap((tier) => {
      const { seats, slots } = stateOf(world, tier);
      return [...set(keys.seats(tier), tier, seats), ...set(keys.slots(tier), tier, slots)];
    }),
    ...everybodysTiers.flatMap((tier) => {
      const times = learnt.get(nameOf(tier));
      if (times === undefined) return forGoodHash(keys.times(tier), {});
      const { counts, totalMs: ms, told, kept } = times;
      return forGoodHash(keys.times(tier), { ...counts, ms, told, kept, samples: samplesOf(times) }, withoutZeros);
    }),
    ...everyTier.flatMap((tier): Reading[] => {
      const refused = refusals.get(nameOf(tier));
      const key = keys.refusals(tier);
      return [{ command: ['hgetall', key], expected: texts({ ...refused }) }, ttl(key, refused && hour)];
    }),
    ...everyRate.flatMap((each): Reading[] => {
      const state = rates.get(rateName(each));
      const key = keys.rate(each);
      return [
        { command: ['get', key], expected: state && rateText(state), read: readRate, binary: true },
        { command: ['pexpiretime', key], expected: state?.expires ?? absent },
      ];
    }),
    ...[...charges].flatMap(([id, { at, attempt, amounts }]) => {
      const words = [...amounts].map(([rule, amount]) => `${rule}=${amount}`).join(' ');
      return text(keys.charges(id), `${at}|${attempt}|${words}`, chargesLastMs);
    }),
  ];
}

function rateText(state: RateState): string {
  switch (state.kind) {
    case 'window':
      return ['w', state.count, state.opened, state.ends].join('|');
    case 'bucket':
      return ['b', state.level, state.at, state.opened, state.burst, state.refill, state.token].join('|');
    case 'gcra':
      return String(state.tat);
  }
}

/** A letter and whole numbers as doubles, as `lua/include/rates.lua` has them. */
function readRate(raw: unknown): string | undefined {
  if (!Buffer.isBuffer(raw)) return undefined;
  const numbers = Array.from({ length: Math.floor(raw.length / 8) }, (_, index) => raw.readDoubleLE(1 + 8 * index));
  const letter = raw.toString('latin1', 0, 1);
  return letter === 'g' ? numbers.join('|') : [letter, ...numbers].join('|');
}

function limitsHash({ epoch, version, overrides, paused, liveRates }: World): Record<string, unknown> {
  const fields = [...overrides].flatMap(([label, { inSystem, running }]) => [
    ...(inSystem === undefined ? [] : [[`inSystem:${label}`, inSystem]]),
    ...(running === undefined ? [] : [[`running:${label}`, running]]),
  ]);
  const pauses = Object.entries(paused).map(([pool, { admission }]) => [
    `paused:pool:${pool}`,
    admission === 'continue' ? 1 : 2,
  ]);
  const rates = Object.keys(liveRates).length;
  return {
    ...(epoch === undefined ? {} : { epoch }),
    ...(version === undefined ? {} : { version, overrides: fields.length + pauses.length + rates }),
    ...Object.fromEntries(fields),
    ...Object.fromEntries(pauses),
  };
}

function liveRates({ version, liveRates }: World, key: string): Reading[] {
  const words = Object.entries(liveRates).map(([rule, numbers]) => `${rule}=${formText(numbers)}`);
  const expected = version === undefined ? null : `${version} ${words.join(' ')}`;
  return [
    { command: ['get', key], expected },
    { command: ['pttl', key], expected: expected === null ? absent : forGood },
  ];
}

function holdersHash({ holders }: World): Record<string, unknown> {
  return Object.fromEntries(
    [...holders].map(([member, { nonce, since, attempt, leaseMs }]) => [
      member,
      [nonce, since, attempt, leaseMs].join('|'),
    ]),
  );
}

function forGoodHash(key: string, fields: Record<string, unknown>, read = (raw: object): object => raw): Reading[] {
  const expected = read(texts(fields));
  const some = Object.keys(expected).length > 0;
  return [
    { command: ['hgetall', key], expected, read: (raw) => read(raw as object) },
    { command: ['pttl', key], expected: some ? forGood : absent },
  ];
}

function text(key: string, value: string | undefined, lastsMs: number | undefined): Reading[] {
  return [{ command: ['get', key], expected: value ?? null }, ttl(key, lastsMs)];
}

/** A client's set goes with the latest end it was ever given, everybody's stay. */
function set(key: string, { tier }: Tier, leases: Leases): Reading[] {
  const lasts = isClients(tier) ? leases.lastEnd : forGood;
  return [
    {
      command: ['zrange', key, 0, -1, 'WITHSCORES'],
      expected: leases.sorted().flatMap(([member, end]) => [member, String(end)]),
    },
    { command: ['pexpiretime', key], expected: leases.ends.size === 0 ? absent : lasts },
  ];
}

/** Written `lastsMs` long, some real time ago: the server's own clock counts it down. */
function ttl(key: string, lastsMs: number | undefined): Reading {
  const agoMs = 2 * minute;
  const close = (raw: unknown) => {
    const isClose = typeof raw === 'number' && lastsMs !== undefined && raw <= lastsMs && raw > lastsMs - agoMs;
    return isClose ? lastsMs : raw;
  };
  return { command: ['pttl', key], expected: lastsMs ?? absent, read: close };
}

function withoutZeros(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '0'));
}

function texts(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}
