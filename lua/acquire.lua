-- acquire: one attempt takes its slots in every tier, or none anywhere. Sent twice with one nonce, it takes them once.
--
-- KEYS[1]   limits (hash)     KEYS[2]  holders (hash, include/holder.lua)     KEYS[3]  decision log (stream)
-- KEYS[4]   service times of the pool (hash), where kept ETAs are counted
-- KEYS[5..] seats, slots of each tier
--
-- ARGV  now             ms, '' = server TIME
--       member          `<tenant>|<id>`
--       nonce           of this attempt, fresh for each
--       attempt         its number
--       permits         slots to take in every tier
--       lease_ms        life of the slots
--       deadline        ms: from it on the task may no longer start
--       seat_ms         how long the seat must last from now: the longest end of this attempt, with its margin
--       epoch           the task's record names; its seat counts as lost with that epoch's data if another is in force
--       expected_by     ms: the p90 of its start that the client was told, '' = none was told
--       names           of the tiers, for the log
--       shared          how many tiers are everybody's; the others are one client's each, and their sets expire with their last lease
--       labels, limits  of the tiers (include/tiers.lua)
--
-- Replies  {'acquired', now, lapses, epoch}                       lapses: the moment the slots lapse
--          {'late', now}                                          at the deadline or past it
--          {'held', lapses}                                       another attempt holds live slots, or this one's have lapsed
--          {'rebuilding'}                                         no epoch: nothing is decided
--          {'paused'}                                              the pool is
--          {'busy', tier index, in use, limit, hint_ms}           hint_ms: until the earliest slot there lapses by itself
--          {'unseated', tier index, in use, limit}                an older epoch's task whose seat is gone does not fit now
-- @include arguments
-- @include tiers
-- @include log
-- @include grant
-- @include holder

-- @include now
local member = text('member', 256)
local nonce = text('nonce', 64)
local attempt = integer('attempt', 1, 1e6)
local permits = integer('permits', 1, 1000)
local lease_ms = integer('lease_ms', 1, 3600000)
local deadline = integer('deadline', 1e12, 7e12)
local seat_ms = integer('seat_ms', 1, 86400000)
local epoch = integer('epoch', 1, 1e12)
local expected_by = optional_integer('expected_by', 1e12, 7e12)
local names = text('names', 512)
local shared = integer('shared', 0, 16)
local tiers = read_tiers(5)

local holder = read_holder(KEYS[2], member)
local lapses = holder and tonumber(call('ZSCORE', KEYS[6], slot_member(member, 1)) or 0) or 0
local in_force, _, limits, pauses = read_limits(KEYS[1])
if holder and holder.nonce == nonce and lapses > now then
  return { 'acquired', now, lapses, in_force or epoch }
end
-- The seat lapses at the deadline: from that moment on another task may have it.
if now >= deadline then
  return { 'late', now }
end
if lapses > now then
  return { 'held', lapses }
end
-- A nonce is for one lease: a call that comes late, after its slots have lapsed, takes none again.
if holder and holder.nonce == nonce then
  return { 'held', now }
end
if not in_force then
  return { 'rebuilding' }
end
if pauses[1] then
  return { 'paused' }
end

lapses = now + lease_ms
-- A start that is never written leaves the task queued until its deadline.
local seat_until = whole(math.max(now + seat_ms, deadline))
local slots_until = whole(lapses)
local entry = { 'acquire', whole(now), member, slots_until, seat_until, permits, attempt, names }
for index = 1, tiers do
  local seats, slots = KEYS[3 + 2 * index], KEYS[4 + 2 * index]
  local in_system, running = limits[2 * index - 1], limits[2 * index]
  if running >= 0 then
    local count = call('ZCARD', slots)
    if count + permits > running then
      count = sweep(KEYS[3], slots, now, count)
      if count + permits > running then
        local first = call('ZRANGEBYSCORE', slots, '(' .. whole(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
        return { 'busy', index, count, running, first[2] and tonumber(first[2]) - now or 0 }
      end
    end
  end
  if epoch ~= in_force and in_system >= 0 and not call('ZSCORE', seats, member) then
    local count = call('ZCARD', seats)
    if count >= in_system then
      count = sweep(KEYS[3], seats, now, count)
      if count >= in_system then
        return { 'unseated', index, count, in_system }
      end
    end
  end
  entry[8 + index] = running < 0 and '-' or running
end

for index = 1, tiers do
  local expires = index > shared
  hold(KEYS[3 + 2 * index], seat_until, member, expires)
  for permit = 1, permits do
    hold(KEYS[4 + 2 * index], slots_until, slot_member(member, permit), expires)
  end
end
write_holder(KEYS[2], member, nonce, now, attempt, lease_ms)
if expected_by then
  call('HINCRBY', KEYS[4], 'told', 1)
  if now <= expected_by then
    call('HINCRBY', KEYS[4], 'kept', 1)
  end
end
write_log(KEYS[3], entry)
return { 'acquired', now, lapses, in_force }
