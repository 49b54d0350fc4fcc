import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runSchedule } from '../../local/events/schedule.ts';
import type { InvokeOutcome } from '../../local/lambda/instance.ts';
import type { FunctionPool } from '../../local/lambda/pool.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('fires after one interval, and leaves out a tick that comes while the last one runs', async () => {
  const ends: ((outcome: InvokeOutcome) => void)[] = [];
  const pool = { invoke: () => new Promise<InvokeOutcome>((resolve) => ends.push(resolve)) };
  const schedule = { logicalId: 'Tick', everyMs: 60_000, pool: pool as unknown as FunctionPool, payload: () => '{}' };
  const lines: string[] = [];
  const running = runSchedule(schedule, (line) => lines.push(line));
  await vi.advanceTimersByTimeAsync(59_999);
  expect(ends).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(180_000);
  expect(ends).toHaveLength(1);
  ends[0]?.({ kind: 'failed', payload: '{"errorMessage":"no"}' });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ends).toHaveLength(2);
  expect(lines).toEqual(['schedule Tick failed: {"errorMessage":"no"}']);
  running.stop();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(ends).toHaveLength(2);
});
