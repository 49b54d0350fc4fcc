import { isTerminal, reusableUntil, type TaskRecord } from '../domain/task-record.ts';
import { type EpochMs, isoTime } from '../domain/time.ts';

export function statusUrl({ id }: Pick<TaskRecord, 'id'>, baseUrl: string): string {
  return `${baseUrl}/v1/tasks/${id}`;
}

/** A task as its client sees it: `GET tasks/{id}`, a 202 and a reused 200 all have this shape. Absent members are left out. */
export function taskView(
  record: TaskRecord,
  baseUrl: string,
  dedup?: { kind: 'miss' | 'joined' | 'reused' },
): Record<string, unknown> {
  const { id, api, pool, status, attempt, progress, result, error } = record;
  const until = isTerminal(status) ? reusableUntil(record) : undefined;
  return {
    id,
    status,
    api,
    pool,
    statusUrl: statusUrl(record, baseUrl),
    attempt,
    createdAt: isoTime(record.createdAt),
    ...moments({ startedAt: record.startedAt, finishedAt: record.finishedAt, expiresAt: record.expiresAt }),
    ...(progress === undefined ? {} : { progress }),
    ...(result === undefined ? {} : { result: JSON.parse(result) as unknown }),
    ...(error === undefined ? {} : { error }),
    dedup: { ...dedup, fingerprint: record.fingerprint, ...moments({ until }) },
  };
}

function moments(all: Readonly<Record<string, EpochMs | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, moment]) => (moment === undefined ? [] : [[name, isoTime(moment)]])),
  );
}
