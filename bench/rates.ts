// `npm run bench:rates`: rate rules against rate limiters that others use, on one Redis, rounds interleaved.
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Redis } from 'ioredis';
import { RedisConnection } from '../lib/adapters/redis/connection.ts';
import { redisGate } from '../lib/adapters/redis/gate.ts';
import { startRedis } from '../local/services/redis.ts';
import { Meter } from './meter.ts';
import { progress } from './progress.ts';
import {
  byFiveFlexible,
  byFlexible,
  byUpstash,
  byWeir,
  decisions,
  fiveRules,
  oneRule,
  rateCell,
} from './rate-rivals.ts';
import { atLeast, find, ratio, type Target, table, targetTable } from './report.ts';
import { measure, type Row } from './rounds.ts';

const quick = process.argv.includes('--quick');
const { rounds, count } = quick ? { rounds: 2, count: 100 } : { rounds: 60, count: 500 };
const names = {
  five: 'Weir rate, five rules',
  fiveAtOnce: '5 × rate-limiter-flexible, at once',
  fiveInTurn: '5 × rate-limiter-flexible, in turn',
  one: 'Weir rate, one rule',
  flexible: 'rate-limiter-flexible',
  upstash: '@upstash/ratelimit',
};

const log = { info: () => undefined, warn: console.warn, error: console.error };
const service = await startRedis();
const client = new Redis({ host: '127.0.0.1', port: service.port, maxRetriesPerRequest: null });
const connection = new RedisConnection({ url: `redis://127.0.0.1:${service.port}`, deadlineMs: 60_000, log });
try {
  await run();
} finally {
  connection.discard();
  client.disconnect();
  await service.stop();
}

async function run(): Promise<void> {
  const gate = redisGate({ connection, ...rateCell() });
  const five = [
    { name: names.five, decide: byWeir(gate, fiveRules) },
    { name: names.fiveAtOnce, decide: byFiveFlexible(client, 'at once') },
    { name: names.fiveInTurn, decide: byFiveFlexible(client, 'in turn') },
  ];
  const cases = [
    ...five.map(({ name, decide }) => decisions(name, count, decide)),
    decisions(names.one, count, byWeir(gate, oneRule)),
    decisions(names.flexible, count, byFlexible(client)),
    decisions(names.upstash, count, byUpstash(client)),
  ];
  const meter = await Meter.open(client);
  const callers = await measure(meter, cases, rounds, progress('by many callers'));
  const alone = await measure(
    meter,
    five.map(({ name, decide }) => decisions(name, count / 5, decide, 1)),
    rounds,
    progress('by one caller'),
  );
  const targets = [...targetsOf(callers, 'fifty callers'), ...targetsOf(alone, 'one caller')];
  const redis = /^redis_version:(\S+)/m.exec(await client.info('server'))?.[1] ?? 'unknown';
  const at = { date: new Date().toISOString().slice(0, 10), node: process.versions.node, redis };
  const report = { ...at, cpus: availableParallelism(), quick, callers, alone, targets };
  const title = `${at.date}  Node ${at.node}, Redis ${redis}, ${report.cpus} processors`;
  const parts = [
    title + (quick ? ' (quick: figures mean nothing)' : ''),
    table('Five rules, fifty callers', callers.slice(0, five.length)),
    table('One rule, fifty callers', callers.slice(five.length)),
    table('Five rules, one caller', alone),
    targetTable(targets),
  ];
  console.log(`\n${parts.join('\n\n')}`);
  if (!quick)
    writeFileSync(new URL('results/rates.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`);
}

/** One decision by five rules is wanted to be three times as good as five calls, whichever way they are sent. */
function targetsOf(rows: readonly Row[], by: string): Target[] {
  const five = find(rows, names.five);
  return [names.fiveAtOnce, names.fiveInTurn].flatMap((name) => {
    const rival = find(rows, name);
    return [
      atLeast(3, `${name}: processor time / ours, ${by}`, ratio('cpuUs', rival, five)),
      atLeast(3, `decisions a second / ${name}, ${by}`, ratio('perSecond', five, rival)),
    ];
  });
}
