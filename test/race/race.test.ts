import { expect, inject, onTestFinished, test } from 'vitest';
import { faultsOf, Race } from './race.ts';

test.each([1, 7])('two hundred posts of eight processes to a cold system: exactly %i are admitted', async (limit) => {
  const race = new Race(inject('ports'));
  onTestFinished(() => race.close());
  expect(faultsOf(await race.round(limit), limit)).toEqual([]);
});

test.each([1, 20])(
  'two hundred posts of eight processes under a rule of %i a day: exactly as many are admitted',
  async (limit) => {
    const race = new Race(inject('ports'));
    onTestFinished(() => race.close());
    const round = await race.round(limit, 'rule');
    expect(faultsOf(round, limit)).toEqual([]);
    expect(round.answers).toHaveProperty('rate_limited', 200 - limit);
  },
);
