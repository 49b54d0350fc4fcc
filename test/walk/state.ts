import type { Cell } from '../../lib/adapters/redis/cell.ts';
import { isClients, limitLabel } from '../../lib/adapters/redis/keys.ts';
import { minute } from '../../lib/domain/time.ts';
import type { World } from '../support/model.ts';
import { samplesOf } from '../support/model/learnt.ts';
import { type Learnt, nameOf, stateOf } from '../support/model/world.ts';
import { dedupKeys, everybodysTiers, everyTier } from './place.ts';
import type { Command } from './scripts.ts';

/** One thing Redis holds: how it is read, what the model says is read. */
export type Reading = { readonly command: Command; readonly expected: unknown };

/** A time to live that was this long when it was written, some real time ago. */
type Lasting = { readonly lastsMs: number };
const slackMs = 2 * minute;

export function equalTtl(expected: unknown, actual: unknown): boolean {
  const { lastsMs } = expected as Lasting;
  return typeof actual === 'number' && actual <= lastsMs && actual > lastsMs - slackMs;
}

export function isLasting(expected: unknown): expected is Lasting {
  return typeof expected === 'object' && expected !== null && 'lastsMs' in expected;
}

const absent = -2;
const forGood = -1;

/** Everything of a cell but its log, as of now. */
export function readings(world: World, { keys }: Cell): Reading[] {
  const hash = (key: string, expected: Record<string, unknown>): Reading[] => [
    { command: ['hgetall', key], expected: texts(expected) },
  ];
  const withTtl = (key: string, value: string | null, lastsMs: number): Reading[] => [
    { command: ['get', key], expected: value },
    { command: ['pttl', key], expected: value === null ? absent : { lastsMs } },
  ];
  return [
    ...hash(keys.limits, limitsHash(world)),
    ...hash(
      keys.holders,
      Object.fromEntries(
        [...world.holders].map(([member, { nonce, since, attempt, leaseMs }]) => [
          member,
          `${nonce}|${since}|${attempt}|${leaseMs}`,
        ]),
      ),
    ),
    ...[keys.limits, keys.holders].map((key) => ({ command: ['pexpiretime', key] as const, expected: undefined })).slice(2),
    ...withTtl(keys.rebuild, world.rebuilder?.nonce ?? null, world.rebuilder?.lastsMs ?? 0),
    ...dedupKeys.flatMap(({ dedupKey }) => {
      const lock = world.locks.get(dedupKey);
      const value = lock && `${lock.creating ? 'creating' : 'created'}|${lock.id}|${lock.fingerprint}`;
      return withTtl(keys.lock(dedupKey), value ?? null, lock?.lastsMs ?? 0);
    }),
    ...everyTier.flatMap((tier) => {
      const { seats, slots } = stateOf(world, tier);
      return [
        [keys.seats(tier), seats] as const,
        [keys.slots(tier), slots] as const,
      ].flatMap(([key, leases]): Reading[] => [
        {
          command: ['zrange', key, 0, -1, 'WITHSCORES'],
          expected: leases.sorted().flatMap(([member, end]) => [member, String(end)]),
        },
        {
          command: ['pexpiretime', key],
          expected: leases.ends.size === 0 ? absent : isClients(tier.tier) ? leases.lastEnd : forGood,
        },
      ]);
    }),
    ...everybodysTiers.flatMap((tier) => hash(keys.times(tier), timesHash(world.learnt.get(nameOf(tier))))),
    ...everyTier.flatMap((tier) => hash(keys.refusals(tier), { ...world.refusals.get(nameOf(tier)) })),
  ];
}

function limitsHash({ epoch, version, overrides, paused }: World): Record<string, unknown> {
  const fields = [...overrides].flatMap(([label, { inSystem, running }]) => [
    ...(inSystem === undefined ? [] : [[`inSystem:${label}`, inSystem]]),
    ...(running === undefined ? [] : [[`running:${label}`, running]]),
  ]);
  return {
    ...(epoch === undefined ? {} : { epoch }),
    ...(version === undefined ? {} : { version, overrides: fields.length }),
    ...Object.fromEntries(fields),
    ...Object.fromEntries([...paused].map((pool) => [`paused:${pool}`, '1'])),
  };
}

/** Fields that are 0 may be missing. */
function timesHash(learnt: Learnt | undefined): Record<string, unknown> {
  if (learnt === undefined) return {};
  const { counts, totalMs: ms, told, kept } = learnt;
  return { ...counts, ms, told, kept, samples: samplesOf(learnt) };
}

function texts(fields: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

void limitLabel;
