import { Redis } from 'ioredis';
import { startRedis } from '../local/services/redis.ts';
import { type Mutant, mutants, mutate } from '../test/walk/mutants.ts';
import { loadScripts } from '../test/walk/scripts.ts';
import { walk } from '../test/walk/walk.ts';

const walks = { seeds: 20, steps: 4_000 };

/** Where the walk of the model and a changed script part, or undefined: then the walk does not guard that line. */
async function caught(redis: Redis, mutant: Mutant): Promise<string | undefined> {
  const scripts = mutate(mutant);
  await loadScripts(redis, scripts);
  for (let seed = 0; seed < walks.seeds; seed++) {
    const found = await walk(seed, { redis, scripts, steps: walks.steps });
    if (found === undefined) continue;
    const step = found.steps.at(-1);
    const where = found.command?.split(' ')[0] ?? (step?.do === 'call' ? step.call : '');
    return `seed ${seed}, step ${found.steps.length}, by ${found.command === undefined ? 'the answer of ' : 'the state: '}${where}`;
  }
  return undefined;
}

async function main(): Promise<boolean> {
  const service = await startRedis();
  const redis = new Redis({ host: '127.0.0.1', port: service.port });
  const begunAt = performance.now();
  let survived = 0;
  try {
    for (const mutant of mutants) {
      const how = await caught(redis, mutant);
      if (how === undefined) survived++;
      process.stdout.write(
        `${how === undefined ? '! SURVIVED' : '  caught'}  ${mutant.name} (${mutant.in.join(', ')}): ${how ?? 'never'}\n`,
      );
    }
  } finally {
    redis.disconnect();
    await service.stop();
  }
  const seconds = ((performance.now() - begunAt) / 1_000).toFixed(0);
  process.stdout.write(`${mutants.length} mutants in ${seconds} s, ${survived} survived\n`);
  return survived === 0;
}

process.exitCode = (await main()) ? 0 : 1;
