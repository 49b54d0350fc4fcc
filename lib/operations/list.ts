import { idsBetween } from '../domain/task-id.ts';
import type { TaskRecord, TaskStatus } from '../domain/task-record.ts';
import type { EpochMs } from '../domain/time.ts';
import type { Positions } from '../ports.ts';
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
  readonly after?: Positions | undefined;
};
/** Less than `limit`, even none, does not mean the end: that is where there are no `positions`. */
export type Listed = { readonly records: readonly TaskRecord[]; readonly positions?: Positions | undefined };

/** How many tasks one request looks at to find those that fit. */
const mostLooked = 500;

/** A tenant's own tasks, the latest first. Very young ones may be missing: the list comes from an index. */
export async function list({ records }: Pick<Deps, 'records'>, request: ListRequest): Promise<Listed> {
  const { tenant, limit } = request;
  const range = idsBetween(request.createdFrom, request.createdBefore);
  const found: TaskRecord[] = [];
  let after = request.after;
  for (let looked = 0; found.length < limit && looked < mostLooked; ) {
    const page = await records.own(tenant, range, { limit: limit - found.length, after });
    looked += page.keys.length;
    after = page.positions;
    const read = new Map((await records.readMany(page.keys)).map((record) => [record.id, record]));
    // In the order of the index; what has expired since is gone.
    const ordered = page.keys.flatMap(({ id }) => read.get(id) ?? []);
    found.push(...ordered.filter((record) => fits(record, request)));
    if (after === undefined) break;
  }
  return { records: found, positions: after };
}

function fits({ status, api }: TaskRecord, asked: ListRequest): boolean {
  return (asked.status === undefined || asked.status === status) && (asked.api === undefined || asked.api === api);
}
