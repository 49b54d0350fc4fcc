-- alive: does this attempt still hold live slots? Reads only.
--
-- KEYS[1]   limits (hash)     KEYS[2]  holders (hash)
-- KEYS[3..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       member     `<tenant>|<id>`
--       nonce      of the attempt
--
-- Replies  {'alive', lapses} | {'gone'} | {'rebuilding'}   rebuilding: no epoch, so nothing can be told
-- @include arguments
-- @include tiers

local now = moment()
local member = text('member', 256)
local nonce = text('nonce', 64)

if redis.call('HEXISTS', KEYS[1], 'epoch') == 0 then
  return { 'rebuilding' }
end
local lapses = tonumber(redis.call('ZSCORE', KEYS[4], slot_member(member, 1)) or 0)
if redis.call('HGET', KEYS[2], member) ~= nonce or lapses <= now then
  return { 'gone' }
end
return { 'alive', lapses }
