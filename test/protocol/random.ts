export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
};

/** A small repeatable generator (mulberry32): the same seed gives the same walk on every machine. */
export function random(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    chance: (probability) => next() < probability,
    pick: (from) => {
      const picked = from[Math.floor(next() * from.length)];
      if (picked === undefined) throw new Error('expected something to pick from');
      return picked;
    },
  };
}
