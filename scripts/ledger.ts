// `npm run ledger`: who holds which slot, as the operator's route tells it, in a terminal.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ledgerLines, type SlotsAnswer, slotsAnswer } from './ledger-text.ts';
import { dataDir, keptToken, localStack, runScript, ScriptError } from './local-stack.ts';

const usage = `npm run ledger -- [options]
  --watch      draws it again each second, until Ctrl-C
  --pool NAME  of one pool alone
  --api NAME   of one api alone
  --url URL    of a deployment, as https://….amazonaws.com/api; default: the stack on this machine
The token comes from WEIR_OPERATOR_TOKEN; on this machine, unless that is set, from where the stack keeps it.
`;
const everyMs = 1_000;
const answerWithinMs = 10_000;

await runScript(async () => {
  const { values } = parse();
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const read = reader(values);
  if (values.watch === true) await watch(read);
  else {
    const width = process.stdout.isTTY ? process.stdout.columns : 1_000;
    process.stdout.write(`${ledgerLines(await read(), { width, stream: process.stdout, most: 10_000 }).join('\n')}\n`);
  }
  return 0;
});

function parse() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({ options: { watch: flag, pool: text, api: text, url: text, help: { ...flag, short: 'h' } } });
  } catch (error) {
    throw new ScriptError(`${error instanceof Error ? error.message : String(error)}; --help tells the options`);
  }
}

function reader(asked: { url?: string; pool?: string; api?: string }): () => Promise<SlotsAnswer> {
  const { root, token } = target(asked.url);
  const url = new URL(`${root}/v1/operator/slots`);
  if (asked.pool !== undefined) url.searchParams.set('pool', asked.pool);
  if (asked.api !== undefined) url.searchParams.set('api', asked.api);
  return async () => {
    const signal = AbortSignal.timeout(answerWithinMs);
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(url, { headers, signal, redirect: 'error' }).catch((error: unknown) => {
      throw new ScriptError(`${url.origin} does not answer (${reasonOf(error)})`);
    });
    const body: unknown = await answer.json().catch(() => undefined);
    if (answer.status === 401 || answer.status === 403)
      throw new ScriptError(
        `${url.origin} refuses this token (${answer.status}): set WEIR_OPERATOR_TOKEN to the operator's`,
      );
    const parsed = slotsAnswer.safeParse(body);
    if (answer.ok && parsed.success) return parsed.data;
    throw new ScriptError(`${url.href} answered ${answer.status}${detailOf(body)}`);
  };
}

/** The kept token goes to the stack on this machine and nowhere else. */
function target(url: string | undefined): { root: string; token: string } {
  const { WEIR_OPERATOR_TOKEN: given, WEIR_STAGE: stage = 'main' } = process.env;
  if (url !== undefined && !URL.canParse(url)) throw new ScriptError(`--url: expected a URL, got ${url}`);
  const local = localStack(process.env);
  if (url === undefined && local === undefined)
    throw new ScriptError(
      `no stack runs on ${dataDir(process.env)}: start it with npm start, name its folder in WEIR_DATA, or name a deployment with --url`,
    );
  const isLocal = local !== undefined && (url === undefined || new URL(url).origin === new URL(local.url).origin);
  const token = given ?? (isLocal ? keptToken(process.env, stage) : undefined);
  if (token === undefined || token === '') throw new ScriptError("no token: set WEIR_OPERATOR_TOKEN to the operator's");
  const root = (url ?? local?.url ?? '').replace(/\/+$/, '').replace(/\/v1$/, '');
  return { root: new URL(root).pathname === '/' ? `${root}/api` : root, token };
}

/** Draws on the terminal's other screen, so that what was there comes back at the end. */
async function watch(read: () => Promise<SlotsAnswer>): Promise<void> {
  const out = process.stdout;
  if (!out.isTTY) throw new ScriptError('--watch draws on a terminal, and this is none');
  let faults = '';
  let lines = ledgerLines(await read(), screen());
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort());
  out.write('\x1b[?1049h\x1b[?25l');
  try {
    while (!stop.signal.aborted) {
      const shown = faults === '' ? lines : [...lines.slice(0, screen().most), faults];
      out.write(`\x1b[H${shown.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`);
      await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => undefined);
      if (stop.signal.aborted) break;
      try {
        lines = ledgerLines(await read(), screen());
        faults = '';
      } catch (error) {
        if (!(error instanceof ScriptError)) throw error;
        faults = `${error.message}; trying again`.slice(0, out.columns);
      }
    }
  } finally {
    out.write('\x1b[?25h\x1b[?1049l');
  }

  function screen() {
    return { width: out.columns, stream: out, most: Math.max(1, out.rows - 4) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function detailOf(body: unknown): string {
  return typeof body === 'object' && body !== null && 'detail' in body ? `: ${String(body.detail)}` : '';
}
