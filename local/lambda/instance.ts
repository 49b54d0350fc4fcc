import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { signal } from '../running-process.ts';
import type { FunctionDefinition } from './definition.ts';
import type { FromRuntime, RuntimeError, ToRuntime } from './messages.ts';

/** `payload` is JSON text: the handler's result, or the error object that Lambda gives its caller. */
export type InvokeOutcome = { kind: 'answered'; payload: string } | { kind: 'failed'; payload: string };

/** `never-began`: the process was dead before the invocation reached it, so another one may run it. */
export type InstanceOutcome = InvokeOutcome | { kind: 'never-began' };

export type Instance = {
  readonly pid: number;
  readonly ended: boolean;
  /** Runs one invocation; the caller gives one at a time. After a time-out or a crash the instance has ended. */
  invoke(payload: string): Promise<InstanceOutcome>;
  kill(): void;
};

const initWithinMs = 30_000;
const maxAnswerBytes = 6_291_556;
const heapShare = 0.9;
const runtimeFile = fileURLToPath(new URL('./runtime.ts', import.meta.url));

type Events = { logFile: string; log: (line: string) => void; onEnd: () => void };

/** Starts a process for a function. It loads while its first invocation waits. */
export function startInstance(definition: FunctionDefinition, events: Events): Instance {
  const child = forkRuntime(definition, events.logFile);
  let ended = false;
  let settle: ((outcome: InstanceOutcome) => void) | undefined;
  let requestId = '';
  let began = false;
  let timer: NodeJS.Timeout | undefined;
  let cause: RuntimeError | undefined;
  let killed = false;

  const finish = (outcome: InstanceOutcome) => {
    clearTimeout(timer);
    const waiting = settle;
    settle = undefined;
    waiting?.(outcome);
  };
  const fail = (errorType: string, errorMessage: string, trace?: string[]) =>
    finish({ kind: 'failed', payload: JSON.stringify({ errorType, errorMessage, ...(trace ? { trace } : {}) }) });
  const end = () => {
    killed = true;
    if (child.pid !== undefined) signal(child.pid, 'SIGKILL');
  };
  const ready = new Promise<boolean>((resolve) => {
    const limit = setTimeout(() => {
      cause = {
        errorType: 'Sandbox.Timedout',
        errorMessage: `Init timed out after ${initWithinMs / 1000} s`,
        trace: [],
      };
      end();
    }, initWithinMs);
    const settled = (isReady: boolean) => {
      clearTimeout(limit);
      resolve(isReady);
    };
    child.on('message', (message: FromRuntime) => {
      if (message.kind === 'ready') settled(true);
    });
    child.once('exit', () => settled(false));
    child.once('error', () => settled(false));
  });

  child.on('message', (message: FromRuntime) => {
    switch (message.kind) {
      case 'ready':
        return;
      case 'not-loaded':
      case 'fatal':
        cause = message.error;
        return;
      case 'began':
        began = true;
        return;
      case 'answer':
        if (message.requestId !== requestId) return;
        if (Buffer.byteLength(message.payload) <= maxAnswerBytes)
          return finish({ kind: 'answered', payload: message.payload });
        return fail(
          'Function.ResponseSizeTooLarge',
          `Response payload size exceeded maximum allowed payload size (${maxAnswerBytes} bytes).`,
        );
      case 'error':
        if (message.requestId !== requestId) return;
        return fail(message.error.errorType, message.error.errorMessage, message.error.trace);
    }
  });
  child.once('error', (error) => {
    cause ??= { errorType: 'Runtime.ExitError', errorMessage: error.message, trace: [] };
  });
  const onExit = (code: number | null, exitSignal: NodeJS.Signals | null) => {
    if (ended) return;
    ended = true;
    const how = exitSignal === null ? `exit status ${code}` : `signal: ${signalWord(exitSignal)}`;
    if (!killed) events.log(`${definition.name} (pid ${child.pid}) ended: ${cause?.errorMessage ?? how}`);
    if (cause !== undefined) fail(cause.errorType, cause.errorMessage, cause.trace);
    else if (settle !== undefined && !began) finish({ kind: 'never-began' });
    else fail('Runtime.ExitError', `RequestId: ${requestId} Error: Runtime exited with error: ${how}`);
    events.onEnd();
  };
  child.once('exit', onExit);
  child.once('error', () => child.pid === undefined && onExit(1, null));

  return {
    pid: child.pid ?? 0,
    get ended() {
      return ended || killed;
    },
    async invoke(payload) {
      const outcome = new Promise<InstanceOutcome>((resolve) => {
        settle = resolve;
      });
      requestId = randomUUID();
      began = false;
      if (ended || killed) return { kind: 'never-began' };
      if (await ready) {
        const seconds = (definition.timeoutMs / 1000).toFixed(2);
        timer = setTimeout(() => {
          events.log(`${definition.name} (pid ${child.pid}) timed out after ${seconds} s`);
          fail('Sandbox.Timedout', `RequestId: ${requestId} Error: Task timed out after ${seconds} seconds`);
          end();
        }, definition.timeoutMs);
        const deadlineEpochMs = Date.now() + definition.timeoutMs;
        const message: ToRuntime = { kind: 'invoke', requestId, payload, deadlineEpochMs, arn: definition.arn };
        // A send that fails is followed by the exit, which settles.
        child.send(message, () => {});
      }
      return outcome;
    },
    kill: end,
  };
}

function forkRuntime(definition: FunctionDefinition, logFile: string): ChildProcess {
  const output = openSync(logFile, 'a');
  try {
    const heapMb = Math.floor(definition.memoryMb * heapShare);
    return fork(runtimeFile, [definition.name], {
      cwd: definition.taskRoot,
      execArgv: [`--max-old-space-size=${heapMb}`],
      env: {
        ...definition.environment,
        AWS_LAMBDA_LOG_STREAM_NAME: `local/[$LATEST]${randomUUID().replaceAll('-', '')}`,
      },
      serialization: 'advanced',
      detached: true,
      stdio: ['ignore', output, output, 'ipc'],
    });
  } finally {
    closeSync(output);
  }
}

function signalWord(name: NodeJS.Signals): string {
  if (name === 'SIGKILL') return 'killed';
  if (name === 'SIGABRT') return 'aborted';
  return String(constants.signals[name] ?? name);
}
