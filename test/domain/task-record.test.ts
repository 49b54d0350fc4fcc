import { expect, test } from 'vitest';
import { judge, type TaskRecord, type TaskStatus } from '../../lib/domain/task-record.ts';
import { toEpochMs } from '../../lib/domain/time.ts';
import { taskRecord } from '../support/records.ts';

const finishedAt = toEpochMs(1_800_000_000_000);
const ended = (status: TaskStatus, over: Partial<TaskRecord> = {}) =>
  taskRecord({ status, finishedAt, reuseMs: 300_000, ...over });

test.each<[string, TaskRecord, number, string]>([
  ['a queued task', taskRecord({ status: 'queued' }), 0, 'joined'],
  ['a running task', taskRecord({ status: 'running' }), 0, 'joined'],
  ['a fresh success', ended('succeeded'), 299_999, 'reused'],
  ['a success whose window is over', ended('succeeded'), 300_000, 'replaceable'],
  ['a success that is never reused', ended('succeeded', { reuseMs: 0 }), 0, 'replaceable'],
  ['a failure', ended('failed'), 0, 'replaceable'],
  ['a cancelled task', ended('cancelled'), 0, 'replaceable'],
  ['an expired task', ended('expired'), 0, 'replaceable'],
])('%s', (_what, record, afterMs, kind) => {
  expect(judge(record, toEpochMs(finishedAt + afterMs)).kind).toBe(kind);
});
