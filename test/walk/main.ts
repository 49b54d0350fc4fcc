import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../../local/services/redis.ts';
import { loadScripts, theScripts } from './scripts.ts';
import { everyKind } from './steps.ts';
import { shrink, tell } from './trace.ts';
import { walk } from './walk.ts';

const usage = `npm run walk -- [options]    random walks of the model and Redis together, each answer and the state compared
  --steps N    steps of each walk (5,000)
  --seeds N    how many walks (240)
  --seed N     the first one (0)`;

function say(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function number(text: string | undefined, otherwise: number): number {
  const value = Number(text ?? otherwise);
  if (!Number.isInteger(value) || value < 0) throw new Error(`expected a whole number, got ${text}`);
  return value;
}

async function walkAll(redis: Redis, from: number, seeds: number, steps: number): Promise<boolean> {
  const scripts = theScripts;
  await loadScripts(redis, scripts);
  const seen = new Map<string, number>();
  const begunAt = performance.now();
  const seconds = () => (performance.now() - begunAt) / 1_000;
  for (let made = 0; made < seeds; made++) {
    const found = await walk(from + made, { redis, scripts, steps, seen });
    if (found !== undefined) {
      say(`DISAGREEMENT at step ${found.steps.length} of seed ${found.seed}; the shortest walk found:`);
      say(...tell(await shrink(found, { redis, scripts })));
      return false;
    }
    if (process.stderr.isTTY || (made + 1) % 20 === 0) {
      const rate = Math.round(((made + 1) * steps) / seconds());
      process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : '\n'}${made + 1} of ${seeds} walks, ${rate} steps/s`);
    }
  }
  process.stderr.write('\n');
  say(...everyKind.map((kind) => `${String(seen.get(kind) ?? 0).padStart(9)}  ${kind}`));
  const missing = everyKind.filter((kind) => !seen.has(kind));
  say(`seeds ${from} to ${from + seeds - 1}: ${seeds * steps} steps in ${seconds().toFixed(0)} s, no disagreement`);
  if (missing.length > 0) say(`NEVER ANSWERED: ${missing.join(', ')}`);
  return missing.length === 0;
}

async function main(): Promise<boolean> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { steps: text, seeds: text, seed: text, help: { type: 'boolean' } } });
  if (values.help) {
    say(usage);
    return true;
  }
  const service = await startRedis();
  const redis = new Redis({ host: '127.0.0.1', port: service.port });
  try {
    return await walkAll(redis, number(values.seed, 0), number(values.seeds, 240), number(values.steps, 5_000));
  } finally {
    redis.disconnect();
    await service.stop();
  }
}

process.exitCode = (await main()) ? 0 : 1;
