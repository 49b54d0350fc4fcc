-- refuse: one more client is told that a tier is full; which of those that wait for a seat is it? Counts nothing that limits anything.
--
-- KEYS[1]  refusals of the tier (hash: count, at; gone when nobody was refused for an hour)
--
-- ARGV  now        ms, '' = server TIME
--       every_ms   how often a seat comes free: those freed since the last call belong to clients told before
--
-- Replies  {'refused', k}   1 = the first of those that wait; lib/domain/retry-after.ts has the same rule
-- @include arguments

local longest_ms = 3600000
-- @include now
local every_ms = integer('every_ms', 1, 1e9)

local state = call('HMGET', KEYS[1], 'count', 'at')
local count, at_ms = tonumber(state[1] or 0), tonumber(state[2] or now)
local since = math.min(at_ms, now)
local freed = math.floor((now - since) / every_ms)
local k = math.min(math.ceil(longest_ms / every_ms), math.max(0, count - freed) + 1)
call('HSET', KEYS[1], 'count', k, 'at', whole(freed >= count and now or since + freed * every_ms))
call('PEXPIRE', KEYS[1], longest_ms)
return { 'refused', k }
