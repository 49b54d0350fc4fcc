// `npm run audit`: recomputes from the decision log what every tier held and compares it with the limits in force. Exit code 1 on a violation.
import { parseArgs } from 'node:util';
import { RedisConnection } from '../lib/adapters/redis/connection.ts';
import { readDecisionLog } from '../lib/adapters/redis/decision-log.ts';
import { cellKeys } from '../lib/adapters/redis/keys.ts';
import { checkConfig } from '../lib/config.ts';
import { audit } from '../lib/domain/audit.ts';
import { toEpochMs } from '../lib/domain/time.ts';
import { Unavailable } from '../lib/ports.ts';
import config from '../weir.config.ts';
import { auditText } from './audit-text.ts';
import { dataDir, localStack, runScript, ScriptError } from './local-stack.ts';

const usage = `npm run audit -- [options]
  --redis URL          redis://host:port or rediss://host:port; default: the stack on this machine
  --password-env NAME  environment variable with its password
  --stage NAME         of the deployment; default WEIR_STAGE or main
  --cell NAME          default 0
  --since TIME         judge what happened from then on, as 2026-01-31T12:00:00Z: after a deployment that changed limits
  --json               the report as JSON
Limits are those of weir.config.ts with this shell's WEIR_… variables: set them as they were when the stage was deployed.
`;

await runScript(async () => {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const weir = checkConfig(config, process.env);
  const keys = cellKeys(options.stage, options.cell);
  const said: string[] = [];
  // What a server says on refusing us (a wrong password) is only logged: the cluster client then finds no node.
  const say = (_message: string, { reason }: Readonly<Record<string, unknown>> = {}) => void said.push(String(reason));
  const connection = new RedisConnection({
    ...options.redis,
    deadlineMs: 10_000,
    log: { info: say, warn: say, error: say },
  });
  try {
    const { entries, whole, written, live } = await readDecisionLog(connection, keys);
    const report = audit(entries, { configured: weir.limits, whole, live, since: options.since });
    const seen = { log: keys.log, records: entries.length, written, whole };
    if (options.json) process.stdout.write(`${JSON.stringify({ ...seen, ...report }, null, 2)}\n`);
    else process.stdout.write(auditText(report, seen, process.stdout));
    return report.violations.length > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    throw new ScriptError([error.message, ...said.slice(-1)].join('; '));
  } finally {
    connection.discard();
  }
});

function readOptions() {
  const { values } = parse();
  return {
    help: values.help === true,
    json: values.json === true,
    stage: values.stage ?? process.env.WEIR_STAGE ?? 'main',
    cell: values.cell ?? '0',
    since: values.since === undefined ? undefined : moment(values.since),
    redis: values.help === true ? { url: '' } : redisAt(values.redis, values['password-env']),
  };
}

function parse() {
  const text = { type: 'string' } as const;
  const options = {
    redis: text,
    'password-env': text,
    stage: text,
    cell: text,
    since: text,
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ options });
  } catch (error) {
    throw new ScriptError(`${error instanceof Error ? error.message : String(error)}; --help tells the options`);
  }
}

function redisAt(url: string | undefined, passwordEnv: string | undefined) {
  if (url === undefined) {
    const local = localStack(process.env);
    if (local === undefined)
      throw new ScriptError(
        `no stack runs on ${dataDir(process.env)}: start it with npm start, name its folder in WEIR_DATA, or name a server with --redis`,
      );
    return { url: `redis://127.0.0.1:${local.redis.port}`, password: async () => local.redis.password };
  }
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol))
    throw new ScriptError(`--redis: expected redis://host:port or rediss://host:port, got ${url}`);
  if (new URL(url).password !== '')
    throw new ScriptError('--redis: no password in the address; name the variable that holds it with --password-env');
  const at = new URL(url);
  if (at.port === '') at.port = '6379';
  if (passwordEnv === undefined) return { url: at.href };
  const password = process.env[passwordEnv];
  if (password === undefined || password === '') throw new ScriptError(`--password-env: ${passwordEnv} is not set`);
  return { url: at.href, password: async () => password };
}

function moment(text: string) {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new ScriptError(`--since: expected a time such as 2026-01-31T12:00:00Z, got ${text}`);
  return toEpochMs(at);
}
