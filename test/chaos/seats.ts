import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { StackState } from '../../local/state-file.ts';
import type { Verdict } from './check.ts';
import { checkLeases } from './check-leases.ts';
import { stage } from './project.ts';
import { takeSnapshot } from './snapshot.ts';
import type { Stand } from './stand.ts';
import { seatGraceMs } from './times.ts';

type Orphans = typeof import('../../lib/operations/orphans.ts');
type Gate = typeof import('../../lib/adapters/redis/gate.ts');
type Keys = typeof import('../../lib/adapters/redis/keys.ts');
type Connection = typeof import('../../lib/adapters/redis/connection.ts');
type Records = typeof import('../../lib/adapters/dynamo/records.ts');
type Config = typeof import('../../lib/config.ts');
type Time = typeof import('../../lib/domain/time.ts');

const silent = { info() {}, warn() {}, error() {} };

/**
 * A request that dies between its lock and its record, and a release that Redis never got, leave seats for longer than most campaigns last. So the
 * system's own step that gives them back is run at the end on the stores as they are, with a clock that is so much ahead; what is left then is a finding.
 */
export async function giveSeatsBack(stand: Stand): Promise<Verdict> {
  const dropped = await runAhead(stand);
  const snapshot = await takeSnapshot(stand.stack.state());
  const ahead = { ...snapshot, now: snapshot.now + seatGraceMs + 1_000, slots: {}, timelessLocks: [] };
  const { findings } = checkLeases(ahead, new Map(snapshot.tasks.map((task) => [task.id, task])));
  const explained = [
    `${dropped} seats were given back by reconcile's own step, with a clock ${seatGraceMs / 1_000} s ahead`,
  ];
  return { findings, explained };
}

async function runAhead({ stack, projectDir }: Stand): Promise<number> {
  const load = async <Module>(file: string): Promise<Module> => import(pathToFileURL(join(projectDir, file)).href);
  const { checkConfig } = await load<Config>('lib/config.ts');
  const { toEpochMs } = await load<Time>('lib/domain/time.ts');
  const { dropOrphans } = await load<Orphans>('lib/operations/orphans.ts');
  const source = await load<{ default: Parameters<Config['checkConfig']>[0] }>('weir.config.ts');
  const weir = checkConfig(source.default, process.env);
  const now = () => toEpochMs(Date.now() + seatGraceMs + 1_000);
  const state = stack.state();
  const connection = await openRedis(load, state);
  const { redisGate } = await load<Gate>('lib/adapters/redis/gate.ts');
  const { cellKeys } = await load<Keys>('lib/adapters/redis/keys.ts');
  const { dynamoRecords } = await load<Records>('lib/adapters/dynamo/records.ts');
  const client = new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    endpoint: `http://127.0.0.1:${state.dynamodb?.port}`,
  });
  try {
    const { startWindowMs } = weir.times;
    const gate = redisGate({ connection, keys: cellKeys(stage), limits: weir.limits, startWindowMs, now });
    const records = dynamoRecords({ client, table: state.tables[0] ?? '', stage, now: () => toEpochMs(Date.now()) });
    const clock = { now, sleep: (ms: number) => sleep(ms) };
    return await dropOrphans({ weir, gate, records, clock, log: silent });
  } finally {
    connection.discard();
    client.destroy();
  }
}

async function openRedis(load: <Module>(file: string) => Promise<Module>, { redis }: StackState) {
  const { RedisConnection } = await load<Connection>('lib/adapters/redis/connection.ts');
  const password = redis?.password;
  return new RedisConnection({
    url: `redis://127.0.0.1:${redis?.port}`,
    log: silent,
    ...(password === undefined ? {} : { password: async () => password }),
  });
}
