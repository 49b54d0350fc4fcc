import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, StackError } from '../stack-error.ts';
import { freePort } from './place.ts';

/** A server in a process of its own. `pid` changes when it died and was started again; `port` does not. */
export type Service = {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
};

export type ServiceOptions = {
  /** Where its data is kept. Without it data lives in memory or in a temporary folder that goes at `stop()`. */
  dataDir?: string;
  /** Where its output goes; by default `<name>.log` beside the data. */
  logFile?: string;
  /** Told in one line when the process died, and when it is up again. */
  log?: (line: string) => void;
  /** Told as soon as its process exists, before it answers: at the start and each time it is started again. */
  onSpawn?: (process: { port: number; pid: number }) => void;
  /** Aborting it ends a start that is under way. */
  signal?: AbortSignal;
};

export type Program = {
  name: string;
  command: string;
  args: (port: number) => string[];
  cwd?: string;
  stdin?: (port: number) => string;
  /** With a channel to this process, on whose end the child ends itself. */
  forked?: boolean;
  /** One try to see whether it answers; rejects while it does not. */
  check: (port: number) => Promise<void>;
  readyWithinMs: number;
  /** What to do when the command is not on PATH. */
  whenMissing: string;
};

const checkEveryMs = 25;
const stopWithinMs = 5_000;
const startAttempts = 3;
const restartPauseMs = 1_000;
const restartAttempts = 5;

/** Starts a program, waits until it answers, and starts it again on the same port whenever it dies before `stop()`. */
export async function runService(
  program: Program,
  options: Required<Pick<ServiceOptions, 'logFile'>> & ServiceOptions,
): Promise<Service> {
  const log = options.log ?? (() => {});
  let stopping = false;
  let port = await freePort();
  let child: ChildProcess | undefined;

  const launch = async () => {
    const started = start(program, port, options.logFile);
    child = started;
    if (started.pid !== undefined) options.onSpawn?.({ port, pid: started.pid });
    await untilReady(program, started, port, options);
    started.once('exit', (code, signal) => void restart(started.pid, code, signal));
    if (started.exitCode !== null || started.signalCode !== null) throw new StackError(`${program.name} ended at once`);
  };
  const restart = async (pid: number | undefined, code: number | null, signal: NodeJS.Signals | null) => {
    if (stopping) return;
    log(`${program.name} (pid ${pid}) died (${signal ?? `exit status ${code}`}); starting it again`);
    for (let attempt = 1; attempt <= restartAttempts && !stopping; attempt += 1) {
      try {
        await launch();
        log(`${program.name} is up again (pid ${child?.pid})`);
        return;
      } catch (error) {
        if (!stopping) log(`${program.name} does not start again (attempt ${attempt}): ${messageOf(error)}`);
        await end(child);
        await delay(restartPauseMs);
      }
    }
    if (!stopping) log(`${program.name} stays down; start everything again`);
  };

  for (let attempt = 1; ; attempt += 1) {
    try {
      await launch();
      break;
    } catch (error) {
      await end(child);
      if (options.signal?.aborted || attempt === startAttempts || !/in use/i.test(tailOf(options.logFile))) throw error;
      port = await freePort();
    }
  }
  return {
    port,
    get pid() {
      return child?.pid ?? 0;
    },
    async stop() {
      stopping = true;
      await end(child);
    },
  };
}

function start(program: Program, port: number, logFile: string): ChildProcess {
  const output = openSync(logFile, 'a');
  try {
    const stdin = program.stdin?.(port);
    // Detached: an interrupt typed at the terminal reaches the runner alone, which stops the services in order.
    const child = spawn(program.command, program.args(port), {
      cwd: program.cwd,
      detached: true,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', output, output, ...(program.forked ? ['ipc' as const] : [])],
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(stdin);
    return child;
  } finally {
    closeSync(output);
  }
}

async function untilReady(
  program: Program,
  child: ChildProcess,
  port: number,
  { logFile, signal }: { logFile: string; signal?: AbortSignal },
): Promise<void> {
  let failure: StackError | undefined;
  child.once('error', (error) => {
    const missing = 'code' in error && error.code === 'ENOENT';
    failure = new StackError(missing ? program.whenMissing : `${program.name} does not start: ${messageOf(error)}`);
  });
  child.once('exit', (code, signal) => {
    failure = new StackError(
      `${program.name} ended (${signal ?? `exit status ${code}`}) before it answered: ${tailOf(logFile)}`,
    );
  });
  const deadline = Date.now() + program.readyWithinMs;
  let last = '';
  while (Date.now() < deadline) {
    signal?.throwIfAborted();
    if (failure !== undefined) throw failure;
    try {
      await program.check(port);
      if (failure === undefined) return;
    } catch (error) {
      last = messageOf(error);
    }
    await delay(checkEveryMs);
  }
  throw failure ?? new StackError(`${program.name} did not answer within ${program.readyWithinMs / 1000} s: ${last}`);
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const force = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(force);
}

function tailOf(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trim().split('\n').slice(-2).join(' | ').slice(-400);
  } catch {
    return '';
  }
}
