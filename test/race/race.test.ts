import { expect, inject, onTestFinished, test } from 'vitest';
import { faultsOf, Race } from './race.ts';

test.each([1, 2, 7])(
  'two hundred posts of eight processes to a cold system: exactly %i are admitted',
  async (limit) => {
    const race = new Race(inject('ports'));
    onTestFinished(() => race.close());
    for (let round = 1; round <= 2; round++) {
      expect(faultsOf(await race.round(limit), limit), `round ${round}`).toEqual([]);
    }
  },
);
