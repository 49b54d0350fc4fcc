-- ledger: every live slot of some tiers and who holds it, read from the sets the gate reads. Reads only.
--
-- KEYS[1]   holders (hash, include/holder.lua)
-- KEYS[2..] slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--
-- Replies  {'ledger', now, then for each live slot: tier index, slot member, lapses, holder value ('' = none)}; the first 1,000 slots of each tier
-- @include arguments

local most_read = 1000
-- @include now

local reply = { 'ledger', now }
for key = 2, #KEYS do
  local slots = call('ZRANGEBYSCORE', KEYS[key], '(' .. whole(now), '+inf', 'WITHSCORES', 'LIMIT', 0, most_read)
  for index = 1, #slots, 2 do
    local count = #reply
    reply[count + 1] = key - 1
    reply[count + 2] = slots[index]
    reply[count + 3] = tonumber(slots[index + 1])
    reply[count + 4] = call('HGET', KEYS[1], string.match(slots[index], '^(.*)#')) or ''
  end
end
return reply
