-- extend: a heartbeat. Live slots of this nonce last longer; a lost lease is never revived.
--
-- KEYS[1]   limits (hash)     KEYS[2]  holders (hash, include/holder.lua)     KEYS[3]  decision log (stream)
-- KEYS[4..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       member     `<tenant>|<id>`
--       nonce      of this attempt
--       permits
--       lease_ms   life of the slots from now
--       shared     how many tiers are everybody's (include/tiers.lua)
--
-- Replies  {'extended', lapses}
--          {'seatless', lapses}   extended, but a seat is gone: the task may have been cancelled, its record tells
--          {'lost'}               slots lapsed or belong to another attempt; nothing was changed
--          {'rebuilding'}         no epoch: nothing was changed, the work goes on
-- @include arguments
-- @include tiers
-- @include log
-- @include grant
-- @include holder

-- @include now
local member = text('member', 256)
local nonce = text('nonce', 64)
local permits = integer('permits', 1, 1000)
local lease_ms = integer('lease_ms', 1, 3600000)
local shared = integer('shared', 0, 16)

if call('HEXISTS', KEYS[1], 'epoch') == 0 then
  return { 'rebuilding' }
end
local holder = read_holder(KEYS[2], member)
local live = holder ~= nil and holder.nonce == nonce
for key = 5, #KEYS, 2 do
  for permit = 1, permits do
    local lapses = live and call('ZSCORE', KEYS[key], slot_member(member, permit))
    live = lapses and tonumber(lapses) > now
  end
end
if not live then
  write_log(KEYS[3], { 'lost', whole(now), member, nonce })
  return { 'lost' }
end

local lapses = now + lease_ms
local lapses_text = whole(lapses)
local seated = true
for key = 4, #KEYS, 2 do
  for permit = 1, permits do
    hold(KEYS[key + 1], lapses_text, slot_member(member, permit), (key - 4) / 2 >= shared)
  end
  seated = seated and call('ZSCORE', KEYS[key], member) ~= false
end
return { seated and 'extended' or 'seatless', lapses }
