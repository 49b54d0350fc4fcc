import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import { Unavailable } from '../../../lib/ports.ts';
import { ask, tiersFor } from '../../support/gate.ts';
import { type Call, countOf, gateAt, startLoad } from '../../support/load.ts';
import { ownerOf, type RedisCluster, RedisNode, startCluster, until } from '../../support/redis-nodes.ts';

/** Three masters, of whom two have a replica; those that are left decide that one is gone. */
let cluster: RedisCluster;
let witness: RedisNode;
beforeAll(async () => {
  cluster = await startCluster({ masters: 3, replicas: 2 });
  witness = cluster.masters[2] as RedisNode;
});
afterAll(() => cluster.stop());

const begin = { nonce: 'test', lockMs: 1_000, take: true, epoch: 1 };
const pool = tiersFor()[0] ?? { tier: 'pool', name: 'p' };
const deadlineMs = 1_000;
/** Room for a loaded machine beyond the deadline of one call; far from "never". */
const roomMs = 1_000;

/** Of the two nodes that share the slots of one third: who leads now, and who follows. */
async function pair(third: 0 | 1): Promise<{ master: RedisNode; replica: RedisNode }> {
  const [one, other] = [cluster.masters[third], cluster.replicas[third]] as [RedisNode, RedisNode];
  return (await isMaster(one)) ? { master: one, replica: other } : { master: other, replica: one };
}

async function stageOn(node: RedisNode): Promise<string> {
  for (let n = 0; ; n++) {
    const stage = `f${Date.now()}${n}`;
    if ((await ownerOf([node, ...cluster.masters], cellKeys(stage).limits)) === node) return stage;
  }
}

async function isMaster(node: RedisNode): Promise<boolean> {
  return (await node.info('role')) === 'master' && (await node.info('cluster_state')) === 'ok';
}

/** Everything the master acknowledged has reached the replica. */
async function isInStep(master: RedisNode, other: RedisNode): Promise<boolean> {
  return (await master.info('master_repl_offset')) === (await other.info('slave_repl_offset'));
}

function failedAfter(calls: readonly Call[], moment: number): number {
  return calls.filter(({ at, kind }) => at >= moment && kind === 'unavailable').length;
}

test('a replica takes over in order: under load at most one call of each process fails or is slow, and no grant is lost', async () => {
  const { master, replica } = await pair(0);
  const stage = await stageOn(master);
  const gates = [1, 2, 3].map(() => gateAt(witness.port, stage));
  await gates[0]?.restore(begin);
  const load = startLoad(gates);
  const admitted = () => countOf(load.calls, 'admitted');
  await until(async () => admitted() > 100);
  // On a machine that is busy with other things calls are slow without any failover.
  const slowMs = Math.max(250, 2 * Math.max(...load.calls.flat().map(({ ms }) => ms)));
  await replica.client.call('CLUSTER', 'FAILOVER');
  await until(() => isMaster(replica));
  const before = admitted();
  await until(async () => admitted() > before + 100);
  await load.stop();

  for (const each of load.calls) {
    const bad = each.filter(({ kind, ms }) => kind !== 'admitted' || ms > slowMs);
    expect(bad.length, JSON.stringify(bad)).toBeLessThanOrEqual(1);
  }
  const seats = await replica.client.zcard(cellKeys(stage).seats(pool));
  expect(seats).toBeGreaterThanOrEqual(admitted());
  expect(seats).toBeLessThanOrEqual(admitted() + countOf(load.calls, 'unavailable'));
});

test.each([
  ['dies', 0],
  ['stands still', 1],
] as const)(
  'a master %s: every call ends within its deadline, one a process at most fails once the replica is master, and the limit holds',
  async (how, third) => {
    const { master, replica } = await pair(third);
    const stage = await stageOn(master);
    const limits = { pools: { p: { inSystem: 40 } } };
    const [idle, ...busy] = [1, 2, 3, 4].map(() => gateAt(witness.port, stage, limits));
    if (idle === undefined) throw new Error('expected a gate');
    await idle.restore(begin);
    for (let n = 0; n < 30; n++) expect(await idle.admit(ask())).toMatchObject({ kind: 'admitted' });
    await until(async () => (await replica.info('master_link_status')) === 'up' && (await isInStep(master, replica)));

    if (how === 'dies') await master.kill();
    else master.signal('SIGSTOP');
    const load = startLoad(busy);
    await until(() => isMaster(replica));
    await until(async () => (await witness.info('cluster_state')) === 'ok');
    const promoted = performance.now();
    // One that did not call meanwhile, on the connection it had.
    const woken = await idle.admit(ask()).catch((error: unknown) => error);
    await until(async () => load.calls.every((each) => each.at(-1)?.kind === 'rejected'));
    await load.stop();

    const calls = load.calls.flat();
    expect(Math.max(...calls.map(({ ms }) => ms))).toBeLessThan(deadlineMs + roomMs);
    expect(countOf(load.calls, 'unavailable')).toBeGreaterThan(0);
    for (const each of load.calls) expect(failedAfter(each, promoted)).toBeLessThanOrEqual(1);
    if (woken instanceof Error) expect(woken).toBeInstanceOf(Unavailable);
    expect((await idle.admit(ask())).kind).toBe('rejected');
    expect(await replica.client.zcard(cellKeys(stage).seats(pool))).toBe(40);
  },
);

test('a server that still loads its data is an outage, not an answer, and is used once it has', async () => {
  const node = await RedisNode.start();
  onTestFinished(() => node.stop());
  await node.client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await until(async () => (await node.info('cluster_state')) === 'ok');
  const gate = gateAt(node.port, 'loading', { pools: { p: { inSystem: 3 } } });
  await gate.restore(begin);
  await gate.admit(ask());
  for (let n = 0; n < 400; n += 200)
    await node.client.mset(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`{x}${n + at}`, 'x'])));
  await node.client.call('SAVE');
  await node.kill();
  // Some milliseconds for each key, and an ear for clients in between.
  await node.restart(['key-load-delay 1500', 'loading-process-events-interval-bytes 1024'], { ready: false });
  await until(async () => (await node.client.ping().catch((error: Error) => error.message)).startsWith('LOADING'));
  const begun = performance.now();
  await expect(gate.admit(ask())).rejects.toBeInstanceOf(Unavailable);
  expect(performance.now() - begun).toBeLessThan(deadlineMs + roomMs);
  await expect
    .poll(() => gate.admit(ask()).catch(() => 'not yet'), { timeout: 15_000 })
    .toMatchObject({ kind: 'admitted' });
  expect(await gate.admit(ask())).toMatchObject({ kind: 'admitted' });
  expect(await gate.admit(ask())).toMatchObject({ kind: 'rejected' });
});
