import { rewritten, type Scripts, theScripts } from './scripts.ts';
import type { Call } from './steps.ts';

/** One change to the text of one or several scripts (those that include the changed part), which a walk must find. */
export type Mutant = {
  readonly name: string;
  readonly in: readonly Call[];
  readonly find: string;
  readonly replace: string;
};

export const mutants: readonly Mutant[] = [
  // Boundaries
  {
    name: 'a tier is full only above its limit',
    in: ['admit'],
    find: 'tier.seated >= limit and tier.seated - free_for_replaced(tier) >= limit',
    replace: 'tier.seated > limit and tier.seated - free_for_replaced(tier) > limit',
  },
  {
    name: 'peek refuses one too late',
    in: ['peek'],
    find: 'alive(tier.seats, now) >= limit',
    replace: 'alive(tier.seats, now) > limit',
  },
  {
    name: 'a lease counts for a millisecond more',
    in: ['peek', 'admit', 'acquire', 'observe'],
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
  // Counting
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
    replace: "call('ZADD', tiers[1].seats, deadline_text, member)",
  },
  {
    name: 'a call sent again is charged again',
    in: ['admit'],
    find: "local held = lock and lock.id == id and call('ZSCORE', tiers[1].seats, member)",
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
    find: 'local seat_until = math.max(now + seat_ms, deadline)',
    replace: 'local seat_until = now + seat_ms',
  },
  {
    name: 'permits are ignored where slots are counted',
    in: ['acquire'],
    find: 'if count + permits > limit then',
    replace: 'if count + 1 > limit then',
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
    find: 'running_tasks(tiers[1].slots, now) -',
    replace: 'alive(tiers[1].slots, now) -',
  },
  // Limits
  {
    name: 'a limit of 0 is none',
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: 'tier.in_system = tonumber(overridden[2 * index - 1] or nil) or tier.configured_in_system',
    replace:
      'tier.in_system = tonumber(overridden[2 * index - 1] or nil) or tier.configured_in_system; if tier.in_system == 0 then tier.in_system = nil end',
  },
  {
    name: 'live limits are ignored',
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: "if base[3] and base[3] ~= '0' then",
    replace: 'if false then',
  },
  {
    name: 'never is judged by live limits',
    in: ['admit'],
    find: 'local running = tier.configured_running',
    replace: 'local running = tier.running',
  },
  {
    name: 'older live limits come into force',
    in: ['setLimits'],
    find: 'if current >= version and version > 0 then',
    replace: 'if current > version and version > 0 then',
  },
  {
    name: 'an override that is gone stays in force',
    in: ['setLimits'],
    find: "call('HDEL', KEYS[1], field)",
    replace: '',
  },
  // Locks
  {
    name: 'a refusal takes the lock',
    in: ['admit'],
    find: "return append_uses({ 'rejected', now, index, limits.version }, tiers, now)",
    replace:
      "write_lock(KEYS[2], 'creating', id, fingerprint, lock_ms) return append_uses({ 'rejected', now, index, limits.version }, tiers, now)",
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
    find: 'tier.seated - free_for_replaced(tier) >= limit',
    replace: 'tier.seated >= limit',
  },
  {
    name: 'a task is replaced that the key does not name',
    in: ['admit'],
    find: 'local giving_back = lock ~= nil and lock.id == replaces and',
    replace: 'local giving_back =',
  },
  // Attempts
  {
    name: 'any attempt may release',
    in: ['release'],
    find: 'local holds = holder and holder.nonce == nonce',
    replace: 'local holds = holder',
  },
  {
    name: 'a heartbeat revives a lost lease',
    in: ['extend'],
    find: 'live = lapses and tonumber(lapses) > now',
    replace: 'live = lapses',
  },
  {
    name: 'any attempt may extend',
    in: ['extend'],
    find: 'local live = holder ~= nil and holder.nonce == nonce',
    replace: 'local live = holder ~= nil',
  },
  {
    name: 'a heartbeat looks at one tier',
    in: ['extend'],
    find: "seated = seated and call('ZSCORE', KEYS[key], member) ~= false",
    replace: "seated = call('ZSCORE', KEYS[#KEYS - 1], member) ~= false",
  },
  {
    name: 'a lease can be made shorter',
    in: ['acquire', 'extend', 'keep', 'restore'],
    find: "call('ZADD', key, 'GT', moment_text, member)",
    replace: "call('ZADD', key, moment_text, member)",
  },
  {
    name: 'a missing seat is kept',
    in: ['keep'],
    find: "if call('ZSCORE', KEYS[key], member) then",
    replace: 'if true then',
  },
  {
    name: "an older epoch's task takes a seat that does not fit",
    in: ['acquire'],
    find: 'if epoch ~= limits.epoch and tier.in_system',
    replace: 'if false and tier.in_system',
  },
  {
    name: 'a paused pool goes on',
    in: ['acquire'],
    find: "call('HEXISTS', KEYS[1], 'paused:' .. pool) == 1",
    replace: 'false',
  },
  // Expiry, epoch, what is learnt
  {
    name: "a client's set goes before its last lease",
    in: ['acquire', 'extend', 'keep', 'restore'],
    find: "call('PEXPIREAT', key, moment_text, 'GT') == 0",
    replace: "call('PEXPIREAT', key, moment_text) == 0",
  },
  {
    name: "everybody's sets expire",
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: 'expires = #tiers >= shared',
    replace: 'expires = true',
  },
  {
    name: 'two rebuild at once',
    in: ['restore'],
    find: 'if owner ~= nonce and (owner or not take) then',
    replace: 'if false then',
  },
  {
    name: 'a rebuilder goes on that lost its lock',
    in: ['restore'],
    find: 'if owner ~= nonce and (owner or not take) then',
    replace: 'if owner ~= nonce and owner then',
  },
  {
    name: 'a lease is restored over a new epoch',
    in: ['restore'],
    find: "if call('HEXISTS', KEYS[1], 'epoch') == 1 then",
    replace: 'if false then',
  },
  {
    name: 'a service time on the edge of a bucket falls below it',
    in: ['release'],
    find: 'next_edge <= square',
    replace: 'next_edge < square',
  },
  {
    name: 'a histogram never forgets',
    in: ['release'],
    find: "if call('HINCRBY', key, 'samples', 1) <= most_samples then",
    replace: "if call('HINCRBY', key, 'samples', 1) > 0 then",
  },
  {
    name: 'part of a seat that came free is lost',
    in: ['refuse'],
    find: 'freed >= count and now or since + freed * every_ms',
    replace: 'now',
  },
  {
    name: 'something is written before the arguments are checked',
    in: ['confirm'],
    find: "local pointer_ms = integer('pointer_ms', 1, 8e9)",
    replace:
      "write_lock(KEYS[1], 'created', id, fingerprint, 1000000) local pointer_ms = integer('pointer_ms', 1, 8e9)",
  },
];

/** The scripts with the mutant's change. Throws where its text is not found exactly once, so that a stale mutant is noticed. */
export function mutate(mutant: Mutant): Scripts {
  return rewritten(theScripts, (source, call) => {
    if (!mutant.in.includes(call)) return source;
    const parts = source.split(mutant.find);
    if (parts.length !== 2) {
      throw new Error(
        `mutant "${mutant.name}": expected its text once in ${call}.lua, found it ${parts.length - 1} times`,
      );
    }
    return parts.join(mutant.replace);
  });
}
