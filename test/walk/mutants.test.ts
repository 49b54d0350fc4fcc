import { expect, test } from 'vitest';
import { caught, type Mutant, mutants, mutate } from './mutants.ts';
import { theScripts } from './scripts.ts';
import { openServer } from './server.ts';
import { shrink } from './trace.ts';

// `npm run mutants` has the walk find each of them, which takes minutes.
test.each(mutants)('its text is there: $name', (mutant) => {
  expect(mutate(mutant)).not.toEqual(theScripts);
});

test('a mutant whose text is gone is an error', () => {
  const stale: Mutant = { name: 'stale', in: ['alive'], find: 'no such text', replace: '' };
  expect(() => mutate(stale)).toThrow('expected its text once in alive.lua, found it 0 times');
});

test('what the walk finds it tells as a walk of a few steps', async () => {
  const mutant: Mutant = { name: 'boundary', in: ['alive'], find: 'lapses <= now', replace: 'lapses < now' };
  const scripts = mutate(mutant);
  const redis = await openServer(scripts);
  const found = await caught(redis, mutant);
  if (found === undefined) throw new Error('expected a disagreement');
  const { steps, expected, actual } = await shrink(found, { redis, scripts });
  const calls = steps.map((step) => (step.do === 'call' ? step.call : step.do));
  // Of some hundred: an epoch, slots, the moment they lapse, the question, and what the shrinking could not do without.
  const told = calls.filter((call, index) => call !== calls[index - 1]);
  expect(told.length).toBeLessThanOrEqual(12);
  expect(told).toEqual(expect.arrayContaining(['restore', 'acquire', 'pass']));
  expect(told.at(-1)).toBe('alive');
  expect([expected, actual]).toMatchObject([{ kind: 'gone' }, { kind: 'alive' }]);
});
