import { expect, test } from 'vitest';
import { isTaskId, taskIdTime, toTaskId } from '../../lib/domain/task-id.ts';
import { toEpochMs } from '../../lib/domain/time.ts';

test.each([1_700_000_000, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  '%d is no moment in milliseconds',
  (value) => {
    expect(() => toEpochMs(value)).toThrow('expected a moment in milliseconds');
  },
);

test('an id tells when it was made', () => {
  expect(taskIdTime(toTaskId('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'))).toBe(Date.UTC(2022, 1, 22, 19, 22, 22));
});

test.each([
  '',
  'x',
  '017f22e2-79b0-4cc3-98c4-dc0c0c07398f',
  '017F22E2-79B0-7CC3-98C4-DC0C0C07398F',
  '017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n',
])('%j is no task id', (text) => expect(isTaskId(text)).toBe(false));
