import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cellKeys } from '../../../lib/adapters/redis/keys.ts';
import { ask, tiersFor } from '../../support/gate.ts';
import { countOf, gateAt, startLoad } from '../../support/load.ts';
import { ownerOf, type RedisCluster, type RedisNode, startCluster, until } from '../../support/redis-nodes.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 });
});
afterAll(() => cluster.stop());

const begin = { nonce: 'test', lockMs: 1_000, take: true, epoch: 1 };
const pool = tiersFor()[0] ?? { tier: 'pool', name: 'p' };
let stages = 0;

/** A fresh cell, on `node` where one is named. */
async function stageOn(node?: RedisNode): Promise<{ stage: string; owner: RedisNode }> {
  for (;;) {
    const stage = `c${++stages}`;
    const owner = await ownerOf(cluster.masters, cellKeys(stage).limits);
    if (node === undefined || node === owner) return { stage, owner };
  }
}

function seed(): number {
  return cluster.masters[0]?.port ?? 0;
}

test('each cell is on one node, cells with other names on others, and each counts for itself', async () => {
  for (const node of cluster.masters) {
    const { stage } = await stageOn(node);
    const gate = gateAt(seed(), stage, { pools: { p: { inSystem: 7 } } });
    await gate.restore(begin);
    const replies = await Promise.all(Array.from({ length: 20 }, () => gate.admit(ask())));
    expect(replies.filter(({ kind }) => kind === 'admitted')).toHaveLength(7);
    const held = await Promise.all(cluster.masters.map(({ client }) => client.keys(`{weir:${stage}:0}*`)));
    expect(held.filter((keys) => keys.length > 0)).toHaveLength(1);
    expect(held[cluster.masters.indexOf(node)]?.length).toBeGreaterThan(7);
  }
});

test('every node forgets the scripts again and again under load: no call fails', async () => {
  const { stage } = await stageOn();
  const gates = [1, 2, 3].map(() => gateAt(seed(), stage));
  await gates[0]?.restore(begin);
  const load = startLoad(gates);
  for (let flushes = 0; flushes < 20; flushes++) {
    await Promise.all(cluster.masters.map(({ client }) => client.script('FLUSH')));
    await sleep(25);
  }
  await load.stop();
  expect(countOf(load.calls, 'admitted')).toBe(load.calls.flat().length);
  expect(load.calls.flat().length).toBeGreaterThan(100);
});

test('a cell moves to another node under load: calls fail only while its keys are on both, none hangs, none is lost or doubled', async () => {
  const { stage, owner } = await stageOn(cluster.masters[1]);
  const target = cluster.masters[2] as RedisNode;
  const gates = [1, 2, 3].map(() => gateAt(seed(), stage));
  await gates[0]?.restore(begin);
  const load = startLoad(gates);
  const admitted = () => countOf(load.calls, 'admitted');
  await until(async () => admitted() > 50);

  const slot = Number(await owner.client.call('CLUSTER', 'KEYSLOT', cellKeys(stage).limits));
  const begun = performance.now();
  await moveSlot(slot, owner, target);
  const moved = performance.now();
  const before = admitted();
  await until(async () => admitted() > before + 50);
  await load.stop();

  const calls = load.calls.flat();
  const failed = calls.filter(({ kind }) => kind === 'unavailable');
  expect(calls.filter(({ kind }) => kind !== 'admitted' && kind !== 'unavailable')).toEqual([]);
  for (const { at, ms } of failed) expect(at + ms).toBeGreaterThan(begun);
  // Once the move is over each process may meet it once more.
  for (const each of load.calls) {
    const late = each.filter(({ at, kind }) => at > moved && kind === 'unavailable');
    expect(late.length).toBeLessThanOrEqual(1);
  }
  expect(Math.max(...calls.map(({ ms }) => ms))).toBeLessThan(2_000);
  // A refused call took nothing: the cell holds what was granted, and at most what an unknown outcome may have taken.
  const seats = await target.client.zcard(cellKeys(stage).seats(pool));
  expect(seats).toBeGreaterThanOrEqual(admitted());
  expect(seats).toBeLessThanOrEqual(admitted() + failed.length);
});

/** As a resharding does it, a few keys at a time, with time in between for calls that meet a cell in two places. */
async function moveSlot(slot: number, from: RedisNode, to: RedisNode): Promise<void> {
  const [fromId, toId] = [await from.id(), await to.id()];
  await to.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  for (;;) {
    const keys = (await from.client.call('CLUSTER', 'GETKEYSINSLOT', slot, 20)) as string[];
    if (keys.length === 0) break;
    await from.client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
    await sleep(5);
  }
  for (const { client } of [to, from, ...cluster.masters]) await client.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
}
