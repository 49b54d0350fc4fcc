import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import { work } from '../../lib/operations/work.ts';
import summary from '../../tasks/summary.ts';
import { openSystem, post } from '../support/deps.ts';

const text = `A weir is a low barrier across a river. A weir raises the level of the water upstream. Millers like cheese.
Engineers measure the flow of a river at a weir by the level of the water above it.`;

/** Runs the task type as a worker does; answers the record. */
async function run(input: unknown, settings: Record<string, string> = {}) {
  const system = await openSystem({ task: { ...summary, api: 'g/a', pool: 'p' } });
  const admission = await admit(system.deps, post(system, input));
  const delivery = await system.queue.receive();
  const pool = system.deps.weir.pools.p;
  if (admission.kind !== 'admitted' || delivery === undefined || pool === undefined) throw new Error('expected a task');
  const taskSettings = { setting: (name: string) => settings[name], secret: async (name: string) => settings[name] };
  await work({ ...system.deps, taskSettings }, pool, delivery);
  return system.deps.records.read(admission.record);
}

test('without a model the summary is made of sentences of the text, and says so', async () => {
  const record = await run({ text, sentences: 2 });
  expect(record?.status).toBe('succeeded');
  const result = JSON.parse(record?.result ?? '') as Record<string, string>;
  expect(result).toMatchObject({ method: 'extractive', because: 'no model is configured' });
  expect(result.summary).toContain('weir');
  expect(result.summary).not.toContain('cheese');
});

test('a model that answers is used, with its key, and one that fails is replaced by sentences of the text', async () => {
  let answers = 0;
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    if (answers++ > 0) return response.writeHead(503).end();
    return response.end(JSON.stringify({ choices: [{ message: { content: 'Weirs dam rivers.' } }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const settings = { WEIR_AI_BASE_URL: `http://127.0.0.1:${port}`, WEIR_AI_MODEL: 'm', WEIR_AI_KEY: 'k' };
  expect(JSON.parse((await run({ text }, settings))?.result ?? '')).toEqual({
    summary: 'Weirs dam rivers.',
    method: 'model',
    model: 'm',
  });
  expect(JSON.parse((await run({ text }, settings))?.result ?? '')).toMatchObject({
    method: 'extractive',
    because: 'it answered 503',
  });
  expect(keys).toEqual(['Bearer k', 'Bearer k']);
});

test.each([
  [{}, 'nothing_to_summarize'],
  [{ text: '12 34' }, 'nothing_to_summarize'],
])('without text it fails for good: %j', async (input, code) => {
  expect(await run(input)).toMatchObject({ status: 'failed', attempt: 1, error: { code } });
});
