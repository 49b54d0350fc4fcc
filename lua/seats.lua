-- seats: one page of the live seats of a tier, oldest end first. Reads only; while it is read page by page seats may come and go.
--
-- KEYS[1]  seats of the tier
--
-- ARGV  now        ms, '' = server TIME
--       offset     seats to skip
--       count      seats of a page
--
-- Replies  {'seats', now, member, …}
-- @include arguments

-- @include now
local offset = integer('offset', 0, 1e7)
local count = integer('count', 1, 1000)

local reply = call('ZRANGEBYSCORE', KEYS[1], '(' .. whole(now), '+inf', 'LIMIT', offset, count)
table.insert(reply, 1, 'seats')
table.insert(reply, 2, now)
return reply
