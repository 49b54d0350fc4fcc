import type { Mutant } from './mutant.ts';

/** What an attempt may do, how long sets live, and what is begun or learnt. */
export const leases: readonly Mutant[] = [
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
    find: 'if epoch ~= in_force and in_system >= 0',
    replace: 'if false and in_system >= 0',
  },
  {
    name: 'a paused pool goes on',
    in: ['acquire'],
    find: 'if pauses[1] then',
    replace: 'if false then',
  },
  {
    name: 'a pool that refuses takes tasks',
    in: ['admit'],
    find: 'if pauses[1] == pause_refuses then',
    replace: 'if false then',
  },
  {
    name: 'a pool that is paused but admits refuses',
    in: ['peek'],
    find: 'if pauses[1] == pause_refuses then',
    replace: 'if pauses[1] then',
  },
  {
    name: "a cancelled task's slot is restored with a seat",
    in: ['restore'],
    find: 'if seat_until then',
    replace: 'if true then seat_until = seat_until or now + 60000',
  },
  {
    name: "a client's set goes before its last lease",
    in: ['acquire', 'extend', 'keep', 'restore'],
    find: "call('PEXPIREAT', key, moment_text, 'GT') == 0",
    replace: "call('PEXPIREAT', key, moment_text) == 0",
  },
  {
    name: "everybody's sets expire",
    in: ['admit', 'acquire'],
    find: 'index > shared',
    replace: 'true',
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
