import { expect, test } from 'vitest';
import { fuzzMultipart } from '../support/multipart-fuzz.ts';

test('ten thousand random multipart bodies: accepted or refused, and nothing else is left', async () => {
  const answers = await fuzzMultipart(10_000, 2);
  expect(Object.values(answers).reduce((sum, count) => sum + count, 0)).toBe(10_000);
  console.log(answers);
}, 600_000);
