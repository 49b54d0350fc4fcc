/** A moment in milliseconds since 1970, as the Redis server's TIME or a record states it. Only `toEpochMs` makes one. */
export type EpochMs = number & { readonly unit: 'epoch-ms' };

const earliest = Date.UTC(2001, 8, 9);
const latest = Date.UTC(2200, 0, 1);

/** Refuses anything that is not a whole number of milliseconds between 2001 and 2200; seconds fall outside that range. */
export function toEpochMs(value: number): EpochMs {
  if (!Number.isSafeInteger(value) || value < earliest || value > latest) {
    throw new RangeError(`expected a moment in milliseconds since 1970, got ${value}`);
  }
  return value as EpochMs;
}

/** The same for a moment somebody asked about, who may mean any time before or after: the nearest one there can be. */
export function nearestEpochMs(value: number): EpochMs {
  return toEpochMs(Math.min(latest, Math.max(earliest, value)));
}

export function addMs(moment: EpochMs, durationMs: number): EpochMs {
  return toEpochMs(moment + durationMs);
}

export function isoTime(moment: EpochMs): string {
  return new Date(moment).toISOString();
}

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;
