import { expect, test } from 'vitest';
import { fuzzMultipart } from '../support/multipart-fuzz.ts';

test('random multipart bodies: accepted or refused, and nothing else is left', async () => {
  const answers = await fuzzMultipart(600, 1);
  const kinds = ['202', '400 malformed_multipart', '400 malformed_json', '400 unknown_part', '422 invalid_input'];
  expect(Object.keys(answers)).toEqual(expect.arrayContaining(kinds));
});
