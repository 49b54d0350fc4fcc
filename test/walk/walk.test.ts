import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { loadScripts, rewritten, type Scripts, theScripts } from './scripts.ts';
import { everyKind } from './steps.ts';
import { shrink, tell } from './trace.ts';
import { walk } from './walk.ts';

async function openServer(scripts: Scripts): Promise<Redis> {
  const redis = new Redis({ host: '127.0.0.1', port: inject('ports').redis });
  onTestFinished(() => redis.disconnect());
  await loadScripts(redis, scripts);
  return redis;
}

test('the model and Redis agree on every answer and on what is held, and each kind of answer occurs', async () => {
  const scripts = theScripts;
  const redis = await openServer(scripts);
  const seen = new Map<string, number>();
  for (let seed = 0; seed < 12; seed++) {
    const found = await walk(seed, { redis, scripts, steps: 4_000, seen });
    expect(found && tell(await shrink(found, { redis, scripts })).join('\n')).toBeUndefined();
  }
  expect(everyKind.filter((kind) => !seen.has(kind))).toEqual([]);
});

test('a change of one character is found, and told as a walk of a few steps', async () => {
  const scripts = rewritten(theScripts, (source, call) =>
    call === 'alive' ? source.replace('lapses <= now', 'lapses < now') : source,
  );
  const redis = await openServer(scripts);
  const found = await walk(0, { redis, scripts, steps: 10_000 });
  if (found === undefined) throw new Error('expected a disagreement');
  const { steps, expected, actual } = await shrink(found, { redis, scripts });
  expect(steps.map((step) => (step.do === 'call' ? step.call : step.do))).toEqual([
    'restore',
    'acquire',
    'pass',
    'alive',
  ]);
  expect([expected, actual]).toMatchObject([{ kind: 'gone' }, { kind: 'alive' }]);
});
