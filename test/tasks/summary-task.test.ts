import { expect, test } from 'vitest';
import { admit } from '../../lib/operations/admit.ts';
import { work } from '../../lib/operations/work.ts';
import summary from '../../tasks/summary.ts';
import { openSystem, post } from '../support/deps.ts';
import { openReceiver } from '../support/receiver.ts';
import { asPart } from '../support/uploads.ts';
import { fixture, readPdf, textsOf } from './read-pdf.ts';

const text = `A weir is a low barrier across a river. A weir raises the level of the water upstream. Millers like cheese.
Engineers measure the flow of a river at a weir by the level of the water above it.`;

/** Runs the task type as a worker does, perhaps on a document; answers the record. */
async function run(input: unknown, settings: Record<string, string> = {}, pdf?: Uint8Array) {
  const system = await openSystem({ task: { ...summary, api: 'g/a', pool: 'p' } });
  const over = pdf === undefined ? {} : { file: asPart(pdf, 'a.pdf', 'application/pdf') };
  const admission = await admit(system.deps, post(system, input, over));
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

test('a PDF is summarized by its text, one that nobody can read is refused as conversions/pdf refuses it', async () => {
  const record = await run({ sentences: 1 }, {}, fixture('chromium'));
  expect(record).toMatchObject({ status: 'succeeded', attempt: 1 });
  const { summary: made } = JSON.parse(record?.result ?? '') as { summary: string };
  expect(made).not.toBe('');
  expect(
    textsOf(await readPdf(fixture('chromium')))
      .join(' ')
      .replaceAll(/\s+/g, ' '),
  ).toContain(made);
  expect(await run({}, {}, fixture('qpdf-user-password'))).toMatchObject({
    status: 'failed',
    attempt: 1,
    error: { code: 'encrypted_pdf' },
  });
});

test('a model that answers is used, with its key, and one that fails is replaced by sentences of the text', async () => {
  let answers = 0;
  const { origin, calls } = await openReceiver((_request, response) => {
    if (answers++ > 0) return response.writeHead(503).end();
    return response.end(JSON.stringify({ choices: [{ message: { content: 'Weirs dam rivers.' } }] }));
  });
  const settings = { WEIR_AI_BASE_URL: origin, WEIR_AI_MODEL: 'm', WEIR_AI_KEY: 'k' };
  expect(JSON.parse((await run({ text }, settings))?.result ?? '')).toEqual({
    summary: 'Weirs dam rivers.',
    method: 'model',
    model: 'm',
  });
  expect(JSON.parse((await run({ text }, settings))?.result ?? '')).toMatchObject({
    method: 'extractive',
    because: 'it answered 503',
  });
  expect(calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer k', 'Bearer k']);
});

test.each([
  [{}, 'nothing_to_summarize'],
  [{ text: '12 34' }, 'nothing_to_summarize'],
])('without text it fails for good: %j', async (input, code) => {
  expect(await run(input)).toMatchObject({ status: 'failed', attempt: 1, error: { code } });
});
