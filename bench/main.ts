import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Redis } from 'ioredis';
import { RedisConnection } from '../lib/adapters/redis/connection.ts';
import { admitScript, confirmScript } from '../lib/adapters/redis/scripts/admission.ts';
import { restoreScript } from '../lib/adapters/redis/scripts/cell-settings.ts';
import { acquireScript, releaseScript } from '../lib/adapters/redis/scripts/slots.ts';
import { startRedis } from '../local/services/redis.ts';
import {
  acquireAndRelease,
  admitAndConfirm,
  admitByCallers,
  bullmqAdd,
  redisSemaphore,
  setByCallers,
} from './callers.ts';
import { beginEpoch, busyClients, fill, loadScripts, newCell, pipelineLength } from './cell.ts';
import { bytesPerTask } from './memory.ts';
import { Meter } from './meter.ts';
import { progress } from './progress.ts';
import { print, type Report, targetsOf } from './report.ts';
import { measure } from './rounds.ts';
import { admitting, bareSet } from './scripts.ts';

const quick = process.argv.includes('--quick');
const scale = quick
  ? { medium: 1_000, large: 2_000, rounds: 2, callerRounds: 1, operations: 100, weighed: 500 }
  : {
      medium: 10_000,
      large: 1_000_000 - pipelineLength,
      rounds: 200,
      callerRounds: 20,
      operations: 500,
      weighed: 100_000,
    };

const log = { info: () => undefined, warn: console.warn, error: console.error };
const service = await startRedis();
const client = new Redis({ host: '127.0.0.1', port: service.port, maxRetriesPerRequest: null });
const connection = new RedisConnection({ url: `redis://127.0.0.1:${service.port}`, deadlineMs: 60_000, log });
try {
  const report = await run();
  console.log(`\n${print(report)}`);
  if (!quick) {
    writeFileSync(new URL('results/latest.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`);
  }
} finally {
  connection.discard();
  client.disconnect();
  await service.stop();
}

async function run(): Promise<Report> {
  await loadScripts(client, [admitScript, confirmScript, restoreScript, acquireScript, releaseScript]);
  const [none, small, medium, large] = await Promise.all(
    ['none', 'small', 'medium', 'large'].map(async (stage) => {
      const cell = newCell(stage);
      await beginEpoch(client, cell);
      return cell;
    }),
  );
  if (!none || !small || !medium || !large) throw new Error('expected four cells');
  const meter = await Meter.open(client);

  const bytes = [
    await bytesPerTask(client, 'tenants of 1,000 tasks, addresses of 100', busyClients, scale.weighed),
    await bytesPerTask(
      client,
      'tenants of 10 tasks, addresses of 1',
      { tasksPerTenant: 10, tasksPerAddress: 1 },
      scale.weighed,
    ),
  ];
  await client.flushall();
  for (const cell of [none, small, medium, large]) await beginEpoch(client, cell);

  await fill(client, small, 100, () => undefined);
  await fill(client, medium, scale.medium, progress('filling'));
  const set = bareSet(client, none);
  const at100 = admitting(client, small, 100, 'admit, 100 tasks');
  const at10k = admitting(client, medium, scale.medium, 'admit, 10 k tasks');
  const pipelined = await measure(
    meter,
    [set, admitting(client, none, 0, 'admit, no task yet'), at100, at10k],
    scale.rounds,
    progress('in pipelines'),
  );

  const rivals = { client, connection, cell: medium, size: scale.medium, operations: scale.operations };
  const bullmq = bullmqAdd(rivals);
  const callers = await measure(
    meter,
    [
      setByCallers(rivals),
      admitByCallers(rivals),
      admitAndConfirm(rivals),
      bullmq,
      acquireAndRelease(rivals, 4),
      acquireAndRelease(rivals, 2),
      redisSemaphore(rivals),
    ],
    scale.callerRounds,
    progress('by many callers'),
  );
  await bullmq.close();

  await fill(client, large, scale.large, progress('filling a million'));
  const at1M = admitting(client, large, scale.large, 'admit, 1 M tasks');
  const pipelinedBesideAMillion = await measure(
    meter,
    [set, at100, at10k, at1M],
    scale.rounds,
    progress('beside a million'),
  );

  const measured = {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    redis: /^redis_version:(\S+)/m.exec(await client.info('server'))?.[1] ?? 'unknown',
    cpus: availableParallelism(),
    quick,
    pipelined,
    pipelinedBesideAMillion,
    callers,
    bytes,
  };
  return { ...measured, targets: targetsOf(measured) };
}
