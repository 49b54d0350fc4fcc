-- alive: does this attempt still hold live slots? Reads only.
--
-- KEYS[1]   limits (hash)     KEYS[2]  holders (hash, include/holder.lua)     KEYS[3]  slots of the task's first tier
--
-- ARGV  now        ms, '' = server TIME
--       member     `<tenant>|<id>`
--       nonce      of the attempt
--
-- Replies  {'alive', lapses} | {'gone'} | {'rebuilding'}   rebuilding: no epoch, so nothing can be told
-- @include arguments
-- @include tiers
-- @include holder

-- @include now
local member = text('member', 256)
local nonce = text('nonce', 64)

if call('HEXISTS', KEYS[1], 'epoch') == 0 then
  return { 'rebuilding' }
end
local holder = read_holder(KEYS[2], member)
local lapses = tonumber(call('ZSCORE', KEYS[3], slot_member(member, 1)) or 0)
if not holder or holder.nonce ~= nonce or lapses <= now then
  return { 'gone' }
end
return { 'alive', lapses }
