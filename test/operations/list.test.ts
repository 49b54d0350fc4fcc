import { expect, test } from 'vitest';
import { readCursor, writeCursor } from '../../lib/domain/cursor.ts';
import { taskIdTime } from '../../lib/domain/task-id.ts';
import { addMs } from '../../lib/domain/time.ts';
import { cancel } from '../../lib/operations/cancel.ts';
import { type ListRequest, list } from '../../lib/operations/list.ts';
import { openSystem, type System } from '../support/deps.ts';
import { taskRecord } from '../support/records.ts';

async function create(system: System, count: number, over: Parameters<typeof taskRecord>[0] = {}) {
  const deadline = addMs(system.deps.clock.now(), 10_000);
  const records = Array.from({ length: count }, () => taskRecord(over));
  await Promise.all(records.map((record) => system.deps.records.create(record, { deadline })));
  return records.map(({ id }) => id).sort();
}

async function pages(system: System, request: Omit<ListRequest, 'after'>) {
  const ids: string[][] = [];
  let after: ListRequest['after'];
  do {
    const page = await list(system.deps, { ...request, after });
    ids.push(page.records.map(({ id }) => id));
    after = page.next;
  } while (after !== undefined);
  return ids;
}

test('a tenant sees each of its own tasks once, the latest first, in pages of any size', async () => {
  const system = await openSystem();
  const ids = await create(system, 57);
  await create(system, 5, { tenant: 'other' });
  await create(system, 5, { tenant: 't#1' });
  for (const limit of [1, 7, 57, 100]) {
    const all = await pages(system, { tenant: 't', limit });
    expect(all.flat()).toEqual([...ids].reverse());
    expect(Math.max(...all.map(({ length }) => length))).toBeLessThanOrEqual(limit);
  }
  expect((await pages(system, { tenant: 't#1', limit: 3 })).flat()).toHaveLength(5);
  expect((await pages(system, { tenant: 'nobody', limit: 3 })).flat()).toEqual([]);
});

test('filters by status, api and when they were created', async () => {
  const system = await openSystem();
  const ids = await create(system, 20);
  const others = await create(system, 20, { api: 'g/b' });
  await Promise.all(others.slice(0, 6).map((id) => cancel(system.deps, { tenant: 't', id })));
  const request = { tenant: 't', limit: 4 };
  expect((await pages(system, { ...request, api: 'g/b' })).flat().sort()).toEqual(others);
  const cancelled = await pages(system, { ...request, status: 'cancelled' });
  expect(cancelled.flat()).toHaveLength(6);
  expect(Math.max(...cancelled.map(({ length }) => length))).toBe(4);
  expect((await pages(system, { ...request, status: 'cancelled', api: 'g/a' })).flat()).toEqual([]);
  const middle = taskIdTime(ids[10] ?? (ids[0] as never));
  const all = [...ids, ...others];
  const from = (await pages(system, { ...request, createdFrom: middle })).flat();
  const before = (await pages(system, { ...request, createdBefore: middle })).flat();
  expect(from.sort()).toEqual(all.filter((id) => taskIdTime(id) >= middle).sort());
  expect(before.sort()).toEqual(all.filter((id) => taskIdTime(id) < middle).sort());
});

test('a cursor is good only with its key, for its list, and as it was written', () => {
  const key = Buffer.alloc(32, 7);
  const scope = ['tasks', 't', '', ''];
  const place = [{ pk: 'T#t#1' }, null];
  const cursor = writeCursor(key, scope, place);
  expect(readCursor(key, scope, cursor)).toEqual(place);
  const [text = '', mac = ''] = cursor.split('.');
  const forged = Buffer.from(JSON.stringify([{ pk: 'T#other#1' }, null])).toString('base64url');
  for (const bad of ['', '.', 'a.b', text, `${forged}.${mac}`, `${text}.${mac}.x`, `${text}.${mac.slice(1)}`])
    expect(readCursor(key, scope, bad)).toBeUndefined();
  expect(readCursor(key, ['tasks', 'other', '', ''], cursor)).toBeUndefined();
  expect(readCursor(Buffer.alloc(32, 8), scope, cursor)).toBeUndefined();
});
