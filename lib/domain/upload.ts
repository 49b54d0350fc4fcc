import { addMs, day, type EpochMs, hour, minute } from './time.ts';

/** Names an upload; good for its tenant alone. */
export type UploadKey = { readonly tenant: string; readonly id: string };

/** What a client says of the bytes it is about to upload; S3 holds it to that. */
export type Declared = { readonly sha256: string; readonly size: number; readonly mediaType: string };

/** A file that a client uploads by itself, before it posts a task that names it. */
export type Upload = UploadKey &
  Declared & {
    /** The object's place in the bucket, shared by uploads of the same bytes once a task keeps it. */
    readonly key: string;
    readonly createdAt: EpochMs;
    /** Nothing can be sent to its URL from here on; what was begun before may still arrive. */
    readonly urlExpiresAt: EpochMs;
    /** No new task may name it from here on. */
    readonly expiresAt: EpochMs;
    /** A task uses the object, which lasts until then. */
    readonly keptUntil?: EpochMs | undefined;
  };

/** Where a tenant's bytes of one hash and size are, by the last upload of them. */
export type StoredContent = Pick<Upload, 'id' | 'key' | 'keptUntil'>;

/** An object as S3 describes it. `sha256` is what S3 itself computed of the bytes it took; absent: it was stored without one. */
export type StoredObject = { readonly size: number; readonly sha256: string | undefined; readonly storedAt: EpochMs };

export const uploadUrlMs = 5 * minute;
export const uploadKeepMs = day;
/** An upload that is offered again instead of a new one is good for at least this long. */
const leastLeftMs = hour;
/** S3 takes no more in one request. */
export const maxUploadBytes = 5_000_000_000;

/**
 * Where an upload stands.
 *
 * - `pending`  nothing is there, its URL is still good
 * - `ready`    the declared bytes are there: a task may name it
 * - `expired`  its time is over, or nothing came while its URL was good
 */
export type UploadStatus = 'pending' | 'ready' | 'expired';

/** `object` is what lies at its key; anything but the declared bytes is nothing. */
export function uploadStatus(upload: Upload, object: StoredObject | undefined, now: EpochMs): UploadStatus {
  if (now >= upload.expiresAt) return 'expired';
  if (object?.sha256 === upload.sha256 && object.size === upload.size) return 'ready';
  return now < upload.urlExpiresAt ? 'pending' : 'expired';
}

/**
 * The last moment at which a task may begin to use an object that is kept until `keptUntil`: its record must not outlive it. Undefined where that is too
 * soon for an upload to be offered again.
 */
export function usableUntil(keptUntil: EpochMs, recordKeepMs: number, now: EpochMs): EpochMs | undefined {
  const until = Math.min(addMs(keptUntil, -recordKeepMs), addMs(now, uploadKeepMs)) as EpochMs;
  return isWorthOffering({ expiresAt: until }, now) ? until : undefined;
}

export function isWorthOffering({ expiresAt }: Pick<Upload, 'expiresAt'>, now: EpochMs): boolean {
  return addMs(now, leastLeftMs) <= expiresAt;
}
