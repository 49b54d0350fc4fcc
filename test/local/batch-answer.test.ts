import { expect, test } from 'vitest';
import { failedItems } from '../../local/events/batch-answer.ts';

const rows: [string, unknown, string[]][] = [
  ['nothing', null, []],
  ['an empty object', {}, []],
  ['null as the list', { batchItemFailures: null }, []],
  ['an empty list', { batchItemFailures: [] }, []],
  ['one of the batch', { batchItemFailures: [{ itemIdentifier: 'b' }] }, ['b']],
  ['the same twice', { batchItemFailures: [{ itemIdentifier: 'b' }, { itemIdentifier: 'b' }] }, ['b']],
  ['an unknown identifier', { batchItemFailures: [{ itemIdentifier: 'a' }, { itemIdentifier: 'x' }] }, ['a', 'b']],
  ['an empty identifier', { batchItemFailures: [{ itemIdentifier: '' }] }, ['a', 'b']],
  ['null as identifier', { batchItemFailures: [{ itemIdentifier: null }] }, ['a', 'b']],
  ['another key', { batchItemFailures: [{ messageId: 'a' }] }, ['a', 'b']],
  ['an HTTP answer', { statusCode: 500, body: 'x' }, []],
  ['text', 'failed', []],
];

test.each(rows)('%s', (_, answer, failed) => {
  expect([...failedItems(JSON.stringify(answer), ['a', 'b'])]).toEqual(failed);
});
