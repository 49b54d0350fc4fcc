import { type EpochMs, toEpochMs } from './time.ts';

/** A UUID of version 7: its first 48 bits are the moment it was made, so ids sort by age. */
export type TaskId = string & { readonly kind: 'task-id' };

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isTaskId(text: string): text is TaskId {
  return shape.test(text);
}

/** Throws on anything but a lower-case UUID of version 7; use `isTaskId` for what a client sent. */
export function toTaskId(text: string): TaskId {
  if (!isTaskId(text)) throw new TypeError(`expected a UUID of version 7, got ${JSON.stringify(text)}`);
  return text;
}

/** The moment the id was made, by the clock of who made it. */
export function taskIdTime(id: TaskId): EpochMs {
  return toEpochMs(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** The ids made from one moment on and before another, as the lowest and the highest there can be; both ends included. */
export function idsBetween(from?: EpochMs, before?: EpochMs): { from: string; to: string } {
  const least = (ms: number, rest: string) => {
    const hex = ms.toString(16).padStart(12, '0');
    return `${hex.slice(0, 8)}-${hex.slice(8)}-${rest}`;
  };
  return {
    from: least(from ?? 0, '7000-8000-000000000000'),
    to: least(before === undefined ? 2 ** 48 - 1 : before - 1, '7fff-bfff-ffffffffffff'),
  };
}
