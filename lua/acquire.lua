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
--       pool            name, for its pause
--       expected_by     ms: the p90 of its start that the client was told, '' = none was told
--       names           of the tiers, for the log
--       tiers           shared, then for each: label, inSystem, running (include/tiers.lua)
--
-- Replies  {'acquired', now, lapses, epoch}                       lapses: the moment the slots lapse
--          {'late', now}                                          at the deadline or past it
--          {'held', lapses}                                       another attempt holds live slots, or this one's have lapsed
--          {'rebuilding'}                                         no epoch: nothing is decided
--          {'paused'}
--          {'busy', tier index, in use, limit, hint_ms}           hint_ms: until the earliest slot there lapses by itself
--          {'unseated', tier index, in use, limit}                an older epoch's task whose seat is gone does not fit now
-- @include arguments
-- @include tiers
-- @include log
-- @include grant
-- @include holder

local now = moment()
local member = text('member', 256)
local nonce = text('nonce', 64)
local attempt = integer('attempt', 1, 1e6)
local permits = integer('permits', 1, 1000)
local lease_ms = integer('lease_ms', 1, 3600000)
local deadline = integer('deadline', 1e12, 7e12)
local seat_ms = integer('seat_ms', 1, 86400000)
local epoch = integer('epoch', 1, 1e12)
local pool = text('pool', 64)
local expected_by = optional_integer('expected_by', 1e12, 7e12)
local names = text('names', 512)
local tiers = read_tiers(5)

local holder = read_holder(KEYS[2], member)
local lapses = holder and tonumber(call('ZSCORE', tiers[1].slots, slot_member(member, 1)) or 0) or 0
local limits = read_limits(KEYS[1], tiers)
if holder and holder.nonce == nonce and lapses > now then
  return { 'acquired', now, lapses, limits.epoch or epoch }
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
if not limits.epoch then
  return { 'rebuilding' }
end
if call('HEXISTS', KEYS[1], 'paused:' .. pool) == 1 then
  return { 'paused' }
end

local entry = { 'acquire', whole(now), member, whole(now + lease_ms), whole(math.max(now + seat_ms, deadline)), permits, attempt, names }
for index, tier in ipairs(tiers) do
  local limit = tier.running
  if limit then
    local count = count_sweeping(KEYS[3], tier.slots, now, limit - permits + 1)
    if count + permits > limit then
      local first = call('ZRANGEBYSCORE', tier.slots, '(' .. whole(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      return { 'busy', index, count, limit, first[2] and tonumber(first[2]) - now or 0 }
    end
  end
  if epoch ~= limits.epoch and tier.in_system and not call('ZSCORE', tier.seats, member) then
    local count = count_sweeping(KEYS[3], tier.seats, now, tier.in_system)
    if count >= tier.in_system then
      return { 'unseated', index, count, tier.in_system }
    end
  end
  entry[8 + index] = limit or '-'
end

lapses = now + lease_ms
-- A start that is never written leaves the task queued until its deadline.
local seat_until = math.max(now + seat_ms, deadline)
for _, tier in ipairs(tiers) do
  hold(tier.seats, seat_until, member, tier.expires)
  for permit = 1, permits do
    hold(tier.slots, lapses, slot_member(member, permit), tier.expires)
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
return { 'acquired', now, lapses, limits.epoch }
