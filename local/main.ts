// `npm start`: runs the project's stack on this machine until it is interrupted.
import { resolve } from 'node:path';
import { type RunningStack, startStack } from './stack.ts';
import { messageOf, StackError } from './stack-error.ts';

const maxPort = 65_535;
const startedAt = Date.now();

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort());
// A reader of our output that went away is no reason to leave the services alone.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

// A bug must not leave the services behind either.
let isBroken = false;
process.on('uncaughtException', (error) => {
  process.stderr.write(`error: unexpected: ${error instanceof Error ? error.stack : String(error)}\n`);
  isBroken = true;
  stop.abort();
});

process.exit((await run()) || Number(isBroken));

async function run(): Promise<number> {
  try {
    const stack = await startStack({
      projectDir: process.cwd(),
      dataDir: dataDir(),
      port: portFrom(process.env.PORT ?? '3000'),
      log: say,
      signal: stop.signal,
    });
    printReady(stack);
    await aborted(stop.signal);
    say('stopping');
    await stack.stop();
    say('stopped');
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    process.stderr.write(`error: ${messageOf(error)}\n`);
    return 1;
  }
}

function printReady(stack: RunningStack): void {
  const lines = ['', `Ready: ${stack.url}`, ''];
  for (const output of stack.outputs) {
    lines.push(`  ${output.description}`, ...output.value.split('\n').map((line) => `    ${line}`), '');
  }
  lines.push(`  Data in ${dataDir()}, logs in ${resolve(dataDir(), 'logs')}; Ctrl-C stops everything`, '');
  process.stdout.write(`${lines.join('\n')}\n`);
}

function say(line: string): void {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1).padStart(6);
  process.stdout.write(`${seconds} s  ${line}\n`);
}

function dataDir(): string {
  return resolve(process.env.WEIR_DATA ?? '.weir');
}

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= maxPort) return port;
  throw new StackError(`PORT is ${text}, which is no port number`);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
