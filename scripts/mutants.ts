import { Redis } from 'ioredis';
import { startRedis } from '../local/services/redis.ts';
import { caught, mutants } from '../test/walk/mutants.ts';
import type { Disagreement } from '../test/walk/walk.ts';

function tell(found: Disagreement): string {
  const step = found.steps.at(-1);
  const by = found.command === undefined ? (step?.do === 'call' ? step.call : '') : found.command.split(' ')[0];
  return `seed ${found.seed}, step ${found.steps.length}, by ${found.command === undefined ? 'the answer of' : 'the state:'} ${by}`;
}

/** A mutant whose script does not run proves nothing: anything would catch it. */
function isBroken({ actual }: Disagreement): boolean {
  return /user_script.*(attempt to|nonexistent global)/.test(JSON.stringify(actual));
}

async function main(): Promise<boolean> {
  const service = await startRedis();
  const redis = new Redis({ host: '127.0.0.1', port: service.port });
  const begunAt = performance.now();
  let survived = 0;
  try {
    for (const mutant of mutants) {
      const found = await caught(redis, mutant);
      const works = found !== undefined && !isBroken(found);
      if (!works) survived++;
      const mark = works ? '  caught' : found === undefined ? '! SURVIVED' : '! DOES NOT RUN';
      process.stdout.write(`${mark}  ${mutant.name} (${mutant.in.join(', ')}): ${found ? tell(found) : 'never'}\n`);
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
