import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from './data-folder.ts';

export type ServiceState = { port: number; pid: number; password?: string };
export type FunctionState = { name: string; pid: number; busy: boolean };

/** What stack.json says about a running stack, for people and tests that look inside. */
export type StackState = {
  pid: number;
  url?: string;
  redis?: ServiceState;
  dynamodb?: ServiceState;
  sqs?: ServiceState;
  /** In the process of SQS, behind a guard. */
  s3?: { port: number };
  secrets?: { port: number };
  lambda?: { port: number };
  queues: Record<string, string>;
  tables: string[];
  buckets: string[];
  functions: FunctionState[];
};

export type StateFile = {
  /** Changes the state; the file follows within 50 ms. */
  update(change: (state: StackState) => void): void;
  current(): StackState;
  /** Writes what is pending, now. */
  flush(): void;
  /** Removes the file: a clean stop leaves nothing to look after. */
  remove(): void;
};

const settleMs = 50;

export function createStateFile(dataPath: string): StateFile {
  const file = join(dataPath, 'stack.json');
  const state: StackState = { pid: process.pid, queues: {}, tables: [], buckets: [], functions: [] };
  let timer: NodeJS.Timeout | undefined;
  let removed = false;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (!removed) writeAtomically(file, `${JSON.stringify(state, null, 2)}\n`);
  };
  return {
    update(change) {
      change(state);
      // A burst of changes is one write: functions turn busy and idle thousands of times a second.
      timer ??= setTimeout(flush, settleMs).unref();
    },
    current: () => state,
    flush,
    remove() {
      removed = true;
      clearTimeout(timer);
      rmSync(file, { force: true });
    },
  };
}

/** The state an earlier runner left, or undefined when it stopped cleanly or the file makes no sense. */
export function readLeftState(dataPath: string): Partial<StackState> | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(dataPath, 'stack.json'), 'utf8'));
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
