import { type Delivery, isTerminal, reusableUntil, type TaskRecord } from './task-record.ts';
import { type EpochMs, isoTime } from './time.ts';

export function statusUrl({ id }: Pick<TaskRecord, 'id'>, baseUrl: string): string {
  return `${baseUrl}/v1/tasks/${id}`;
}

export function resultUrl(record: Pick<TaskRecord, 'id'>, baseUrl: string): string {
  return `${statusUrl(record, baseUrl)}/result`;
}

/**
 * A task as its client sees it: `GET tasks/{id}`, a 202, a reused 200 and what its callback is told all have this shape. Absent members are left out.
 */
export function taskView(
  record: TaskRecord,
  baseUrl: string,
  dedup?: 'miss' | 'joined' | 'reused',
): Record<string, unknown> {
  const { id, api, pool, status, attempt, progress, result, resultFile, error, callbackUrl, delivery } = record;
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
    ...(resultFile === undefined ? {} : { resultUrl: resultUrl(record, baseUrl) }),
    ...(error === undefined ? {} : { error }),
    ...(record.redriveOf === undefined ? {} : { redriveOf: record.redriveOf }),
    ...(record.redrivenAs === undefined ? {} : { redrivenAs: record.redrivenAs }),
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    ...(delivery === undefined ? {} : { delivery: deliveryView(delivery) }),
    dedup: { ...(dedup === undefined ? {} : { kind: dedup }), ...dedupReceipt(record) },
  };
}

function deliveryView({ status, attempts, nextAt, problem }: Delivery): Record<string, unknown> {
  return { status, attempts, ...moments({ nextAt }), ...(problem === undefined ? {} : { problem }) };
}

/**
 * What makes another request the same as this one, and until when it is answered by this task: while the task is open, and for `reuseMs` after a
 * success; `until` is known once it has ended. `parts` are what the fingerprint covers beside tenant, method and api.
 */
function dedupReceipt(record: TaskRecord): Record<string, unknown> {
  const { fingerprint, inputDigest, files, reuseMs, dedupKey } = record;
  return {
    fingerprint,
    by: namedBy[dedupKey.slice(`D#${record.tenant}#`.length)[0] ?? ''] ?? 'content',
    parts: {
      input: `sha256:${inputDigest}`,
      files: files.map(({ field, mediaType, size, sha256 }) => ({
        field,
        mediaType,
        size,
        sha256: `sha256:${sha256}`,
      })),
    },
    reuseMs,
    ...moments({ until: isTerminal(record.status) ? reusableUntil(record) : undefined }),
  };
}

/** What makes requests the same, by the letter of their dedup key. */
const namedBy: Readonly<Record<string, string>> = { k: 'idempotency-key', e: 'event' };

function moments(all: Readonly<Record<string, EpochMs | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, moment]) => (moment === undefined ? [] : [[name, isoTime(moment)]])),
  );
}
