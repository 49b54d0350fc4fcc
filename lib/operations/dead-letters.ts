import type { TaskRecord } from '../domain/task-record.ts';
import type { DeadFilter, DeadKey, PageOf, Positions, TaskKey, Unreadable } from '../ports.ts';
import type { Deps } from './deps.ts';

export type DeadLetter =
  | { readonly kind: 'task'; readonly record: TaskRecord }
  | { readonly kind: 'unreadable'; readonly message: Unreadable };
export type DeadLetters = { readonly letters: readonly DeadLetter[]; readonly positions?: Positions | undefined };

/** One page of what was given up, the latest first: tasks whose budget was spent or that were buried, and messages nobody could read. */
export async function deadLetters({ records }: Pick<Deps, 'records'>, page: PageOf): Promise<DeadLetters> {
  const { letters, positions } = await records.dead(page);
  const read = new Map((await records.readMany(letters.filter(isTask))).map((record) => [record.id as string, record]));
  const found = letters.map(async (letter): Promise<DeadLetter[]> => {
    if (letter.kind === 'task') {
      const record = read.get(letter.id);
      // The index may lag behind a redrive.
      return record === undefined || record.redrivenAs !== undefined ? [] : [{ kind: 'task', record }];
    }
    const message = await records.readUnreadable(letter.id);
    return message === undefined ? [] : [{ kind: 'unreadable', message }];
  });
  return { letters: (await Promise.all(found)).flat(), positions };
}

const pageSize = 100;

/** Every dead task that fits, page by page. */
export async function* deadTasks(
  deps: Pick<Deps, 'records'>,
  filter: DeadFilter,
): AsyncGenerator<readonly TaskRecord[]> {
  let after: Positions | undefined;
  do {
    const { letters, positions } = await deadLetters(deps, { limit: pageSize, after });
    yield letters.flatMap((letter) => (letter.kind === 'task' && fits(letter.record, filter) ? [letter.record] : []));
    after = positions;
  } while (after !== undefined);
}

function fits(record: TaskRecord, { ids, api, pool, tenant, code, after, before }: DeadFilter): boolean {
  const { finishedAt = 0 } = record;
  return (
    (ids === undefined || ids.includes(record.id)) &&
    (api === undefined || api === record.api) &&
    (pool === undefined || pool === record.pool) &&
    (tenant === undefined || tenant === record.tenant) &&
    (code === undefined || code === record.error?.code) &&
    (after === undefined || finishedAt >= after) &&
    (before === undefined || finishedAt < before)
  );
}

function isTask(letter: DeadKey): letter is { kind: 'task' } & TaskKey {
  return letter.kind === 'task';
}
