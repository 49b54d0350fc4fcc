// The process of one function instance. It loads the handler as Lambda's Node.js runtime does and runs one invocation
// at a time. It ends with the process that forked it.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FromRuntime, RuntimeError, ToRuntime } from './messages.ts';

type Handler = (event: unknown, context: object) => unknown;

const uncaughtStatus = 129;
const extensions = ['.js', '.mjs', '.cjs'];

process.once('disconnect', () => process.exit(0));
process.on('uncaughtException', (thrown) => {
  const error = describe(thrown);
  console.error('Uncaught Exception', JSON.stringify(error));
  tell({ kind: 'fatal', error }, () => process.exit(uncaughtStatus));
});

try {
  const handler = await loadHandler(process.env.LAMBDA_TASK_ROOT ?? '', process.env._HANDLER ?? '');
  process.on('message', (message: ToRuntime) => void invoke(handler, message));
  tell({ kind: 'ready' });
} catch (thrown) {
  const error = describe(thrown);
  console.error('Init Error', JSON.stringify(error));
  tell({ kind: 'not-loaded', error }, () => process.exit(1));
}

async function invoke(handler: Handler, { requestId, payload, deadlineEpochMs, arn }: ToRuntime): Promise<void> {
  tell({ kind: 'began', requestId });
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  process.env._X_AMZN_TRACE_ID = `Root=1-${seconds}-${randomBytes(12).toString('hex')};Parent=${randomBytes(8).toString('hex')};Sampled=0`;
  const context = {
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: true,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    invokedFunctionArn: arn,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    getRemainingTimeInMillis: () => Math.max(0, deadlineEpochMs - Date.now()),
  };
  try {
    const result = await handler(JSON.parse(payload), context);
    tell({ kind: 'answer', requestId, payload: JSON.stringify(result) ?? 'null' });
  } catch (thrown) {
    const error = describe(thrown);
    console.error(requestId, 'Invoke Error', JSON.stringify(error));
    tell({ kind: 'error', requestId, error });
  }
}

async function loadHandler(taskRoot: string, handlerName: string): Promise<Handler> {
  const [, moduleName = '', exportPath = ''] = /^([^.]*)\.(.*)$/.exec(basename(handlerName)) ?? [];
  const base = join(taskRoot, dirname(handlerName), moduleName);
  const file = extensions.map((extension) => base + extension).find((candidate) => existsSync(candidate));
  if (file === undefined) throw named('Runtime.ImportModuleError', `Error: Cannot find module '${moduleName}'`);
  const loaded = await load(file);
  const handler = exportPath
    .split('.')
    .reduce<unknown>((value, key) => (isIndexable(value) ? value[key] : undefined), loaded);
  if (typeof handler === 'function') return (event, context) => handler(event, context);
  throw named('Runtime.HandlerNotFound', `${handlerName} is undefined or not exported`);
}

// A CommonJS bundle is required rather than imported: its exports need no guessing, and it starts sooner.
async function load(file: string): Promise<unknown> {
  if (!file.endsWith('.mjs')) {
    try {
      return createRequire(file)(file);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code !== 'ERR_REQUIRE_ESM' && code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error;
    }
  }
  return import(pathToFileURL(file).href);
}

function tell(message: FromRuntime, then?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => then?.());
  else then?.();
}

function describe(thrown: unknown): RuntimeError {
  if (!(thrown instanceof Error)) return { errorType: typeof thrown, errorMessage: String(thrown), trace: [] };
  return { errorType: thrown.name, errorMessage: thrown.message, trace: (thrown.stack ?? '').split('\n') };
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

function isIndexable(value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
