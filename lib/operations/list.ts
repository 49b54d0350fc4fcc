import { idsBetween, type TaskId } from '../domain/task-id.ts';
import type { TaskRecord, TaskStatus } from '../domain/task-record.ts';
import type { EpochMs } from '../domain/time.ts';
import type { Deps } from './deps.ts';

export type ListRequest = {
  readonly tenant: string;
  readonly status?: TaskStatus | undefined;
  readonly api?: string | undefined;
  /** Created at that moment or later, before the other. */
  readonly createdFrom?: EpochMs | undefined;
  readonly createdBefore?: EpochMs | undefined;
  /** At most 100. */
  readonly limit: number;
  /** Only those made before this one. */
  readonly after?: TaskId | undefined;
};
/** `next`: where to go on. Less than `limit`, even none, does not mean the end: that is where there is no `next`. */
export type Listed = { readonly records: readonly TaskRecord[]; readonly next?: TaskId | undefined };

/** How many tasks one request looks at, at a time and in all, to find those that fit. */
const atOnce = 100;
const mostRounds = 5;

/** A tenant's own tasks, the latest first. Very young ones may be missing: the list comes from an index. */
export async function list({ records }: Pick<Deps, 'records'>, request: ListRequest): Promise<Listed> {
  const { tenant, limit, status, api } = request;
  const range = idsBetween(request.createdFrom, request.createdBefore);
  const pageSize = status === undefined && api === undefined ? limit : atOnce;
  const found: TaskRecord[] = [];
  let after = request.after;
  for (let round = 1; round <= mostRounds; round++) {
    const to = after !== undefined && after < range.to ? after : range.to;
    if (range.from > to) return { records: found };
    const asked = pageSize + 1;
    const keys = await records.own(tenant, { from: range.from, to }, asked);
    // The one named is looked at already.
    const page = keys.filter(({ id }) => id !== after).slice(0, pageSize);
    const read = new Map((await records.readMany(page)).map((record) => [record.id, record]));
    for (const { id } of page) {
      const record = read.get(id);
      after = id;
      // What has expired since the index was read is gone.
      if (record !== undefined && fits(record, request)) found.push(record);
      if (found.length === limit) return { records: found, next: after };
    }
    if (keys.length < asked) return { records: found };
  }
  return { records: found, next: after };
}

function fits({ status, api }: TaskRecord, asked: ListRequest): boolean {
  return (asked.status === undefined || asked.status === status) && (asked.api === undefined || asked.api === api);
}
