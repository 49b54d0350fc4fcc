import { expect, test } from 'vitest';
import { cancelAtRandom } from '../support/cancels.ts';

test('a thousand cancels at random moments around start and end', async () => {
  const { cancelled, finished } = await cancelAtRandom(1_000);
  expect(Math.min(cancelled, finished)).toBeGreaterThan(50);
  console.log(`${cancelled} cancelled, ${finished} finished first`);
}, 400_000);
