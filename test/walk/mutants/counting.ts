import type { Mutant } from './mutant.ts';

/** Who is counted, until when, and how often. */
export const counting: readonly Mutant[] = [
  {
    name: 'a tier is full only above its limit',
    in: ['admit'],
    find: 'if limit >= 0 and count >= limit then',
    replace: 'if limit >= 0 and count > limit then',
  },
  {
    name: 'peek refuses one too late',
    in: ['peek'],
    find: 'alive(seats, now) >= limit',
    replace: 'alive(seats, now) > limit',
  },
  {
    name: 'a lease counts for a millisecond more',
    in: ['peek', 'admit', 'observe'],
    find: "return call('ZCOUNT', key, '(' .. whole(now), '+inf')",
    replace: "return call('ZCOUNT', key, whole(now), '+inf')",
  },
  {
    name: 'a sweep leaves what lapses at this moment',
    in: ['admit', 'acquire'],
    find: "call('ZCOUNT', key, '-inf', whole(now))",
    replace: "call('ZCOUNT', key, '-inf', '(' .. whole(now))",
  },
  {
    name: 'at the deadline itself a task may start',
    in: ['acquire'],
    find: 'if now >= deadline then',
    replace: 'if now > deadline then',
  },
  {
    name: 'an attempt is alive at the moment its lease is over',
    in: ['alive'],
    find: 'lapses <= now',
    replace: 'lapses < now',
  },
  {
    name: 'an ETA is not kept that is kept to the millisecond',
    in: ['acquire'],
    find: 'now <= expected_by',
    replace: 'now < expected_by',
  },
  {
    name: 'lapsed leases are never swept',
    in: ['admit', 'acquire'],
    find: 'if lapsed == 0 then',
    replace: 'if lapsed >= 0 then',
  },
  {
    name: 'what is swept is still counted',
    in: ['admit', 'acquire'],
    find: 'return count - lapsed',
    replace: 'return count',
  },
  {
    name: 'only the widest tier is charged',
    in: ['admit'],
    find: "call('ZADD', seats, deadline_text, member)",
    replace: "call('ZADD', KEYS[4], deadline_text, member)",
  },
  {
    name: 'a call sent again is charged again',
    in: ['admit'],
    find: "local held = lock and lock.id == id and call('ZSCORE', KEYS[4], member)",
    replace: 'local held = false',
  },
  {
    name: 'an acquire sent again finds the slots held',
    in: ['acquire'],
    find: 'holder.nonce == nonce and lapses > now',
    replace: 'false',
  },
  {
    name: 'a nonce takes slots again after its lease',
    in: ['acquire'],
    find: 'if holder and holder.nonce == nonce then',
    replace: 'if false then',
  },
  {
    name: 'a seat ends before its task is late',
    in: ['acquire'],
    find: 'local seat_until = whole(math.max(now + seat_ms, deadline))',
    replace: 'local seat_until = whole(now + seat_ms)',
  },
  {
    name: 'permits are ignored where slots are counted',
    in: ['acquire'],
    find: 'if count + permits > running then\nlocal first',
    replace: 'if count + 1 > running then\nlocal first',
  },
  {
    name: 'permits are ignored where slots are taken',
    in: ['acquire'],
    find: 'for permit = 1, permits do',
    replace: 'for permit = 1, 1 do',
  },
  {
    name: 'permits are ignored where slots are given back',
    in: ['release'],
    find: 'for permit = 1, permits do',
    replace: 'for permit = 1, 1 do',
  },
  {
    name: 'the line is counted in slots, not in tasks',
    in: ['admit'],
    find: 'running_tasks(KEYS[5]) -',
    replace: 'alive(KEYS[5], now) -',
  },
];
