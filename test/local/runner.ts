// Starts `local/main.ts` on the fixture stack, as a person would, and looks at what it says and leaves.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { commandLineOf, isAlive } from '../../local/running-process.ts';
import type { StackState } from '../../local/state-file.ts';

export type Runner = {
  dataDir: string;
  child: ChildProcess;
  /** Everything it printed so far. */
  said(): string;
  state(): StackState;
  url(): string;
  ready(): Promise<void>;
  exit(): Promise<number | null>;
};

const main = fileURLToPath(new URL('../../local/main.ts', import.meta.url));
const fixture = fileURLToPath(new URL('./fixture', import.meta.url));
const boundMs = 30_000;

export function newDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'local-test-'));
}

export function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true });
}

export function spawnRunner(dataDir: string, environment: Record<string, string> = {}): Runner {
  const child = spawn(process.execPath, [main], {
    cwd: fixture,
    env: { ...process.env, NODE_OPTIONS: '', PORT: '0', WEIR_DATA: dataDir, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const state = (): StackState => JSON.parse(readFileSync(join(dataDir, 'stack.json'), 'utf8'));
  return {
    dataDir,
    child,
    said: () => said,
    state,
    url: () => `${state().url}/live`,
    ready: () =>
      until('the runner is ready', () => {
        if (child.exitCode !== null) throw new Error(`it ended: ${said}`);
        return said.includes('Ready: ');
      }),
    exit: () => exited,
  };
}

/** Waits until a condition holds, for a bounded time. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = boundMs): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await delay(20);
  }
}

/** Every process a runner's state names: services and function instances. */
export function pidsOf(state: StackState): number[] {
  const services = [state.redis, state.dynamodb, state.sqs].flatMap((service) => (service ? [service.pid] : []));
  return [...services, ...state.functions.map((instance) => instance.pid)];
}

export function areGone(pids: number[]): boolean {
  return pids.every((pid) => !isAlive(pid) || commandLineOf(pid) === '');
}
