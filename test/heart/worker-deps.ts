import * as z from 'zod';
import { checkConfig } from '../../lib/config.ts';
import type { Log } from '../../lib/ports.ts';
import { defineTask, type TaskDefinition } from '../../lib/task.ts';
import { processDeps } from '../support/process-deps.ts';
import { pool, type Start } from './start.ts';

const line = (message: string, fields = {}) => console.log(JSON.stringify({ ...fields, message }));
const log: Log = { info: line, warn: line, error: line };

/** The test's system as its worker's process, or the thread in it, wires it. */
export function openWorkerDeps(start: Start, run: TaskDefinition['run']) {
  const { timeoutMs, attempts } = start.task;
  const weir = checkConfig({
    pools: { p: pool },
    tasks: [defineTask({ api: 'g/a', pool: 'p', input: z.looseObject({}), timeoutMs, retry: { attempts }, run })],
  });
  return processDeps(start, weir, log);
}
