import type { Mutant } from './mutant.ts';

/** Who has a dedup key, and what a replaced task gives back. */
export const locks: readonly Mutant[] = [
  {
    name: 'a refusal takes the lock',
    in: ['admit'],
    find: "return with_rates(append_uses({ 'rejected', now, index, version }, 4, limits, now))",
    replace:
      "write_lock(KEYS[2], 'creating', id, fingerprint, lock_ms) return with_rates(append_uses({ 'rejected', now, index, version }, 4, limits, now))",
  },
  {
    name: 'a lock lives seconds for milliseconds',
    in: ['admit', 'confirm'],
    find: "'PX', whole(ttl_ms)",
    replace: "'EX', whole(ttl_ms)",
  },
  {
    name: 'the pointer of a newer task is deleted',
    in: ['release'],
    find: 'if lock and lock.id == id then',
    replace: 'if lock then',
  },
  {
    name: 'a pointer is written over another task',
    in: ['confirm'],
    find: 'if lock and lock.id ~= id then',
    replace: 'if false then',
  },
  {
    name: 'the seat of the replaced task stays',
    in: ['admit'],
    find: "if giving_back and call('ZREM', seats, replaced) == 1 then",
    replace: 'if false then',
  },
  {
    name: 'the seat of the replaced task stands in the way',
    in: ['admit'],
    find: 'count - free_for_replaced(seats) >= limit',
    replace: 'count >= limit',
  },
  {
    name: 'a task is replaced that the key does not name',
    in: ['admit'],
    find: 'local giving_back = lock ~= nil and lock.id == replaces and',
    replace: 'local giving_back =',
  },
];
