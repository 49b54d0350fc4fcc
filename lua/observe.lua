-- observe: what some tiers hold now, counted by the rule the gate counts by. Reads only.
--
-- KEYS[1]   limits (hash)
-- KEYS[2..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       member     whose place is asked, '' = nobody's
--       labels, limits   of the tiers (include/tiers.lua)
--
-- Replies  {'observed', now, version, epoch (0 = none), then for each tier: inSystem in use and limit, running in use and limit (-1 = none),
--           distinct tasks running, tasks that wait before `member` (-1 = no such seat), member of the oldest task that waits ('' = none),
--           its pause (include/tiers.lua; 0 = none)}
--           Tasks and members are of the first 1,000 leases.
-- @include arguments
-- @include tiers

local most_read = 1000
-- @include now
local asked = text('member', 256)
local tiers = read_tiers(2)
local epoch, version, limits, pauses = read_limits(KEYS[1])

local function live(key)
  return call('ZRANGEBYSCORE', key, '(' .. whole(now), '+inf', 'LIMIT', 0, most_read)
end

local reply = { 'observed', now, version, epoch or 0 }
for index = 1, tiers do
  append_use(reply, 2, limits, index, now)
  local running, tasks = {}, 0
  for _, slot in ipairs(live(KEYS[1 + 2 * index])) do
    local member = string.match(slot, '^(.*)#1$')
    if member then
      running[member] = true
      tasks = tasks + 1
    end
  end
  local oldest, ahead, found = '', 0, false
  for _, member in ipairs(live(KEYS[2 * index])) do
    found = found or member == asked
    if not running[member] then
      if not found then
        ahead = ahead + 1
      end
      if oldest == '' then
        oldest = member
      end
    end
  end
  reply[#reply + 1] = tasks
  reply[#reply + 1] = found and ahead or -1
  reply[#reply + 1] = oldest
  reply[#reply + 1] = pauses[index] or 0
end
return reply
