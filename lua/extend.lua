-- extend: a heartbeat. Live slots of this nonce last longer; a lost lease is never revived.
--
-- KEYS[1]   limits (hash)     KEYS[2]  holders (hash)
-- KEYS[3..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       member     `<tenant>|<id>`
--       nonce      of this attempt
--       permits
--       lease_ms   life of the slots from now
--       expires    one for each tier: 1 where its sets expire with their last lease
--
-- Replies  {'extended', lapses}
--          {'seatless', lapses}   extended, but a seat is gone: the task may have been cancelled, its record tells
--          {'lost'}               slots lapsed or belong to another attempt; nothing was changed
--          {'rebuilding'}         no epoch: nothing was changed, the work goes on
-- @include arguments
-- @include tiers

local now = moment()
local member = text('member', 256)
local nonce = text('nonce', 64)
local permits = integer('permits', 1, 1000)
local lease_ms = integer('lease_ms', 1, 3600000)
local tiers = {}
for index = 1, (#KEYS - 2) / 2 do
  tiers[index] = { seats = KEYS[2 * index + 1], slots = KEYS[2 * index + 2], expires = integer('expires', 0, 1) == 1 }
end

if redis.call('HEXISTS', KEYS[1], 'epoch') == 0 then
  return { 'rebuilding' }
end
if redis.call('HGET', KEYS[2], member) ~= nonce then
  return { 'lost' }
end
for _, tier in ipairs(tiers) do
  for permit = 1, permits do
    local lapses = redis.call('ZSCORE', tier.slots, slot_member(member, permit))
    if not lapses or tonumber(lapses) <= now then
      return { 'lost' }
    end
  end
end

local seated = true
for _, tier in ipairs(tiers) do
  for permit = 1, permits do
    hold(tier.slots, now + lease_ms, slot_member(member, permit), tier.expires)
  end
  seated = seated and redis.call('ZSCORE', tier.seats, member) ~= false
end
return { seated and 'extended' or 'seatless', now + lease_ms }
