import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { addMs } from '../../../lib/domain/time.ts';
import { admit } from '../../../lib/operations/admit.ts';
import type { AdmitDeps, WorkDeps } from '../../../lib/operations/deps.ts';
import { status } from '../../../lib/operations/status.ts';
import { work } from '../../../lib/operations/work.ts';
import { drain, post } from '../../support/deps.ts';
import { dumpCell } from '../../support/gate.ts';
import { type OwnSystem, openOwnSystem, useOwnRedis } from '../../support/own-redis.ts';

useOwnRedis();

const pool = { tier: 'pool', name: 'p' } as const;
/** The promise is 2,000 ms; the rest is room for a loaded machine. */
const answeredWithinMs = 2_500;

async function timed<Value>(work: () => Promise<Value>): Promise<{ value: Value; ms: number }> {
  const begun = performance.now();
  return { value: await work(), ms: performance.now() - begun };
}

/** Its process runs again and answers: what had been sent to it before has been carried out by then. */
async function thawed(system: OwnSystem): Promise<void> {
  system.thaw();
  const now = () => system.deps.gate.now().catch(() => 0);
  await expect.poll(now, { timeout: 10_000 }).toBeGreaterThan(0);
}

async function records({ client, table }: OwnSystem): Promise<number | undefined> {
  return (
    await client.send(
      new ScanCommand({
        TableName: table,
        FilterExpression: 'begins_with(pk, :t)',
        ExpressionAttributeValues: { ':t': { S: 'T#' } },
      }),
    )
  ).Count;
}

/** Freezes the server right before the gate's call of this name, so that the call is sent to a process that stands still. */
function freezingAt(system: OwnSystem, name: 'admit' | 'acquire'): WorkDeps & AdmitDeps {
  const { gate } = system.deps;
  const call = gate[name] as (input: unknown) => Promise<unknown>;
  const frozen = (input: unknown) => {
    system.freeze();
    return call(input);
  };
  return { ...system.deps, gate: { ...gate, [name]: frozen } };
}

test('a frozen Redis: posts are answered within their time and leave nothing, tasks can still be read, and then all is as before', async () => {
  const system = await openOwnSystem();
  const first = await admit(system.deps, post(system, { n: 0 }));
  if (first.kind !== 'admitted') throw new Error(`expected a task, got ${first.kind}`);
  const before = await dumpCell(system.connection, system.stage);
  const bytes = Buffer.from('x');
  const file = { field: 'document', mediaType: 'text/plain', size: 1, sha256: 'x', bytes };

  system.freeze();
  const posts = await Promise.all(
    [1, 2, 3, 4].map((n) => timed(() => admit(system.deps, post(system, { n }, n > 2 ? { file } : {})))),
  );
  for (const { value, ms } of posts) {
    expect(value).toEqual({ kind: 'unavailable', reason: 'redis' });
    expect(ms).toBeLessThan(answeredWithinMs);
  }
  const read = await status(system.deps, { tenant: 't', id: first.record.id, waitMs: 0 });
  expect(read).toMatchObject({ kind: 'found', record: { status: 'queued' } });
  expect(await records(system)).toBe(1);
  expect(await system.objects()).toEqual([]);

  await thawed(system);
  expect(await dumpCell(system.connection, system.stage)).toBe(before);
  expect((await admit(system.deps, post(system, { n: 1 }))).kind).toBe('admitted');
});

// A known limit: the server carries out what was in its socket when it stood still, and nobody may be there to give it back.
test('frozen just before the grant: answered within two seconds, and what the server runs late takes nothing', async () => {
  const system = await openOwnSystem();
  await admit(system.deps, post(system, { n: 0 }));
  const answer = await timed(() => admit(freezingAt(system, 'admit'), post(system, { n: 1 })));
  expect(answer.value).toEqual({ kind: 'unavailable', reason: 'redis' });
  expect(answer.ms).toBeLessThan(answeredWithinMs);
  await thawed(system);
  expect(await records(system)).toBe(1);
  expect(await system.objects()).toEqual([]);
  const seats = await system.connection.call('seats', (client) => client.zcard(system.keys.seats(pool)));
  expect(seats).toBe(1);
  // No lock of it is left either: the same body is a new task at once.
  expect(await admit(system.deps, post(system, { n: 1 }))).toMatchObject({ kind: 'admitted' });
});

test('frozen at acquire: the message is deferred, no attempt counts, and what the server took late lapses with its lease', async () => {
  const system = await openOwnSystem({ pool: { running: 1, pending: 3 } });
  const first = await admit(system.deps, post(system, { n: 0 }));
  if (first.kind !== 'admitted') throw new Error(`expected a task, got ${first.kind}`);
  const delivery = await system.queue.receive();
  const at = system.deps.weir.pools.p;
  if (delivery === undefined || at === undefined) throw new Error('expected a message of pool p');
  const worked = await work(freezingAt(system, 'acquire'), at, delivery);
  expect(worked).toMatchObject({ kind: 'defer', because: 'unavailable' });
  await thawed(system);
  expect(await system.deps.records.read({ tenant: 't', id: first.record.id })).toMatchObject({
    status: 'queued',
    attempt: 0,
  });
  const lapse = addMs(await system.deps.gate.now(), at.leaseMs);
  const live = async () => {
    const { slots } = await system.deps.gate.ledger([pool]);
    return slots.map(({ lapsesAt }) => lapsesAt <= lapse);
  };
  expect(await live()).not.toContain(false);
  await expect.poll(live, { timeout: 10_000 }).toEqual([]);
  await system.deps.messages.setVisibility('p', delivery.receiptHandle, 0);
  expect(await drain(system)).toContainEqual({ kind: 'ack', because: 'succeeded' });
  expect(await system.deps.records.read({ tenant: 't', id: first.record.id })).toMatchObject({
    status: 'succeeded',
    attempt: 1,
  });
});
