-- acquire: one attempt takes its slots in every tier, or none anywhere. Sent twice with one nonce, it takes them once.
--
-- KEYS[1]   limits (hash)     KEYS[2]  holders (hash: member → nonce of the attempt that holds its slots)
-- KEYS[3..] seats, slots of each tier
--
-- ARGV  now             ms, '' = server TIME
--       member          `<tenant>|<id>`
--       nonce           of this attempt, fresh for each
--       permits         slots to take in every tier
--       lease_ms        life of the slots
--       deadline        ms: past it the task may no longer start
--       seat_ms         how long the seat must last from now: the longest end of this attempt, with its margin
--       epoch           the task's record names; its seat counts as lost with that epoch's data if another is in force
--       pool            name, for its pause
--       per tier        label, inSystem, running, expires (include/tiers.lua)
--
-- Replies  {'acquired', now, lapses, epoch}                       lapses: the moment the slots lapse
--          {'late', now}                                          past the deadline
--          {'held', lapses}                                       another attempt holds live slots
--          {'rebuilding'}                                         no epoch: nothing is decided
--          {'paused'}
--          {'busy', tier index, in use, limit, hint_ms}           hint_ms: until the earliest slot there lapses by itself
--          {'unseated', tier index, in use, limit}                an older epoch's task whose seat is gone does not fit now
-- @include arguments
-- @include tiers

local now = moment()
local member = text('member', 256)
local nonce = text('nonce', 64)
local permits = integer('permits', 1, 1000)
local lease_ms = integer('lease_ms', 1, 3600000)
local deadline = integer('deadline', 1e12, 7e12)
local seat_ms = integer('seat_ms', 1, 86400000)
local epoch = integer('epoch', 1, 1e12)
local pool = text('pool', 64)
local tiers = read_tiers(3)

local holder = redis.call('HGET', KEYS[2], member)
local lapses = tonumber(redis.call('ZSCORE', tiers[1].slots, slot_member(member, 1)) or 0)
local limits = read_limits(KEYS[1], tiers)
if holder == nonce and lapses > now then
  return { 'acquired', now, lapses, limits.epoch or epoch }
end
if now > deadline then
  return { 'late', now }
end
if holder and lapses > now then
  return { 'held', lapses }
end
if not limits.epoch then
  return { 'rebuilding' }
end
if redis.call('HEXISTS', KEYS[1], 'paused:' .. pool) == 1 then
  return { 'paused' }
end

for index, tier in ipairs(tiers) do
  if tier.running then
    local count = count_sweeping(tier.slots, now, tier.running - permits + 1)
    if count + permits > tier.running then
      local first = redis.call('ZRANGEBYSCORE', tier.slots, '(' .. whole(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      return { 'busy', index, count, tier.running, first[2] and tonumber(first[2]) - now or 0 }
    end
  end
  if epoch ~= limits.epoch and tier.in_system and not redis.call('ZSCORE', tier.seats, member) then
    local count = count_sweeping(tier.seats, now, tier.in_system)
    if count >= tier.in_system then
      return { 'unseated', index, count, tier.in_system }
    end
  end
end

lapses = now + lease_ms
for _, tier in ipairs(tiers) do
  hold(tier.seats, now + seat_ms, member, tier.expires)
  for permit = 1, permits do
    hold(tier.slots, lapses, slot_member(member, permit), tier.expires)
  end
end
redis.call('HSET', KEYS[2], member, nonce)
return { 'acquired', now, lapses, limits.epoch }
