-- observe: what some tiers hold now, counted by the rule the gate counts by. Reads only.
--
-- KEYS[1]   limits (hash)
-- KEYS[2..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       per tier   label, inSystem, running, expires (include/tiers.lua)
--
-- Replies  {'observed', now, version, epoch (0 = none), then for each tier: inSystem in use and limit, running in use and limit (-1 = none),
--           distinct tasks running, member of the oldest task that waits ('' = none among the first 1,000 seats)}
-- @include arguments
-- @include tiers

local most_read = 1000
local now = moment()
local tiers = read_tiers(2)
local limits = read_limits(KEYS[1], tiers)

local function live(key)
  return redis.call('ZRANGEBYSCORE', key, '(' .. whole(now), '+inf', 'LIMIT', 0, most_read)
end

local reply = { 'observed', now, limits.version, limits.epoch or 0 }
for _, tier in ipairs(tiers) do
  append_uses(reply, { tier }, now)
  local running, tasks = {}, 0
  for _, slot in ipairs(live(tier.slots)) do
    local member = string.match(slot, '^(.*)#1$')
    if member then
      running[member] = true
      tasks = tasks + 1
    end
  end
  local oldest = ''
  for _, member in ipairs(live(tier.seats)) do
    if not running[member] then
      oldest = member
      break
    end
  end
  reply[#reply + 1] = tasks
  reply[#reply + 1] = oldest
end
return reply
