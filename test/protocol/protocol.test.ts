import { describe, expect, it } from 'vitest';
import { revert } from './reversions.ts';
import { rules } from './rules.ts';
import { scenarios, search } from './search.ts';
import { walk } from './walk.ts';

/** Every answer of the services that an actor must know what to do with. */
const eachAnswer = {
  'redis.admit': ['admitted', 'duplicate', 'rejected', 'rebuilding', 'unknown'],
  'redis.confirm': ['confirmed', 'other', 'unknown'],
  'redis.acquire': ['acquired', 'late', 'held', 'busy', 'paused', 'rebuilding', 'unknown'],
  'redis.extend': ['extended', 'lost', 'seatless', 'rebuilding', 'unknown'],
  'redis.keep': ['kept', 'lost', 'unknown'],
  'redis.alive': ['alive', 'gone', 'rebuilding'],
  'redis.takeRebuild': ['taken', 'other'],
  'redis.restore': ['restored', 'refused'],
  'redis.openEpoch': ['open', 'refused'],
  'redis.writeLimits': ['written', 'older'],
  'dynamo.create': ['created', 'taken', 'unknown'],
  'dynamo.start': ['written', 'refused', 'unknown'],
  'dynamo.finish': ['written', 'refused'],
  'dynamo.requeue': ['written', 'refused'],
  'dynamo.giveUp': ['written'],
  'dynamo.pause': ['written', 'refused'],
  'dynamo.resume': ['written', 'refused'],
  'dynamo.cancel': ['written', 'refused'],
  'dynamo.expire': ['written', 'refused'],
  'dynamo.bury': ['written'],
  'dynamo.countSend': ['written', 'refused'],
  'dynamo.markSent': ['written', 'refused'],
  'dynamo.postpone': ['written'],
};
const expectedAnswers = Object.entries(eachAnswer).flatMap(([call, kinds]) => kinds.map((kind) => `${call} → ${kind}`));

describe('the protocol', () => {
  it('holds in random walks, in which each answer occurs', () => {
    const answers = new Map<string, number>();
    for (let seed = 0; seed < 1_000; seed++) {
      const { world } = walk(seed, { reverted: new Set(), length: 300, answers });
      expect(world.violation, `seed ${seed}`).toBeUndefined();
    }
    expect(expectedAnswers.filter((answer) => !answers.has(answer))).toEqual([]);
  });

  it('holds in every interleaving of two posts of one key', () => {
    const [scenario] = scenarios;
    if (scenario === undefined) throw new Error('expected a scenario');
    expect(search(scenario, 8_000).broken).toBeUndefined();
  });

  it.each([
    'admitNeedsEpoch',
    'createChecksDedup',
    'seenMustBeTerminal',
    'extendNeverRevives',
    'cancelChecksOpen',
    'finishChecksStatus',
    'approvalTimesOut',
    'requeueChecksSlot',
    'seatDropReadsRecord',
    'limitsDynamoFirst',
  ] as const)('needs %s', (rule) => {
    expect(revert(rule, 300_000).found?.invariant).toBe(rules[rule].breaks);
  });

  it('repeats a walk from its seed', () => {
    const options = { reverted: new Set<never>(), length: 300 };
    expect(walk(7, options).moves).toEqual(walk(7, options).moves);
  });
});
