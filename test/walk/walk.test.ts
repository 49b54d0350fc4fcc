import { expect, test } from 'vitest';
import { theScripts } from './scripts.ts';
import { openServer } from './server.ts';
import { everyKind } from './steps.ts';
import { shrink, tell } from './trace.ts';
import { walk } from './walk.ts';

test('the model and Redis agree on every answer and on what is held, and each kind of answer occurs', async () => {
  const scripts = theScripts;
  const redis = await openServer(scripts);
  const seen = new Map<string, number>();
  for (let seed = 0; seed < 10; seed++) {
    const found = await walk(seed, { redis, scripts, steps: 3_000, seen });
    expect(found && tell(await shrink(found, { redis, scripts })).join('\n')).toBeUndefined();
  }
  expect(everyKind.filter((kind) => !seen.has(kind))).toEqual([]);
});
