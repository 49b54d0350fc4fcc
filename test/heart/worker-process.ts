import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';
import type { TaskRecord } from '../../lib/domain/task-record.ts';
import { admit } from '../../lib/operations/admit.ts';
import { post, type System } from '../support/deps.ts';
import type { Start } from './start.ts';
import type { Told } from './worker.ts';

export type Ended = { code: number | null; signal: NodeJS.Signals | null };

/** A task of `input` whose handler has begun in a process of its own, seen from outside. */
export async function runInProcess(
  system: System,
  { input, thread = 'thread.ts', ...task }: { input: object; thread?: Start['thread'] } & Start['task'],
) {
  const admission = await admit(system.deps, post(system, input));
  const delivery = await system.queue.receive();
  if (admission.kind !== 'admitted' || delivery === undefined) throw new Error('expected a task and its message');
  const { stage, table, queue } = system;
  const start: Start = { ports: inject('ports'), stage, table, queueUrl: queue.url, task, thread };
  const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), [], {
    env: { ...process.env, WEIR_TEST_START: JSON.stringify(start) },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const heard = (kind: Told['kind']) =>
    new Promise<Told>((resolve, reject) => {
      child.on('message', (told: Told) => told.kind === kind && resolve(told));
      ended.then((how) => reject(new Error(`expected to hear ${kind}, it ended: ${JSON.stringify(how)} ${output}`)));
    });
  const worked = heard('worked');
  const aborted = heard('aborted');
  for (const each of [worked, aborted]) each.catch(() => undefined);
  const running = heard('running');
  child.send(delivery);
  await running;
  const record = await system.deps.records.read(admission.record);
  if (record?.holder === undefined) throw new Error('expected a running task');
  return { record: record as TaskRecord & { holder: string }, worked, aborted, ended, output: () => output };
}
