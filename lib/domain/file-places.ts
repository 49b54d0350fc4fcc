import { createHash } from 'node:crypto';
import { day } from './time.ts';

/** Where each kind of object is in the bucket; its lifecycle rules and the functions' permissions are by these. */
export const inputsPrefix = 'inputs/';
export const quarantinePrefix = 'quarantine/';
export const resultsPrefix = 'results/';

/**
 * The tag of an uploaded object. It is `unused` until a task names it, and the bucket then deletes it after two days; from then on it is `kept` and stays for
 * `fileKeepMs`. A tag changes at once whatever the object's size, which a copy to another place would not.
 */
export const uploadTag = { key: 'state', unused: 'unused', kept: 'kept' } as const;

/**
 * How long a stored file lasts that a task uses, from its storing on: as long as the task's record, and as long once more for the one that a redrive makes
 * of it on its last day; a day over, because a bucket deletes by days.
 */
export function fileKeepMs(recordKeepMs: number): number {
  return 2 * recordKeepMs + day;
}

/** The tenant by its hash: a tenant may be any text, and a key's length has an end. */
export function uploadKeyOf(tenant: string, id: string): string {
  return `${quarantinePrefix}${createHash('sha256').update(tenant).digest('hex').slice(0, 32)}/${id}`;
}
