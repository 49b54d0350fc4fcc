-- peek: would a post be refused now? Reads only, charges nothing, decides nothing that admit does not decide again.
--
-- KEYS[1]   limits (hash)
-- KEYS[2]   lock of the dedup key (string), or the limits key again where no dedup key is known yet
-- KEYS[3..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       keyed      1 where KEYS[2] is a dedup key, else 0
--       labels, limits   of the tiers (include/tiers.lua)
--
-- Replies  {'duplicate', state, id, fingerprint, now}
--          {'rebuilding'}
--          {'paused'}                                 the pool takes no new tasks
--          {'full', now, tier index, version, uses…}
--          {'open', now}
-- @include arguments
-- @include tiers
-- @include lock

-- @include now
local keyed = integer('keyed', 0, 1) == 1
local tiers = read_tiers(3)

local lock = keyed and read_lock(KEYS[2])
if lock then
  return { 'duplicate', lock.state, lock.id, lock.fingerprint, now }
end

local epoch, version, limits, pauses = read_limits(KEYS[1])
if not epoch then
  return { 'rebuilding' }
end
if pauses[1] == pause_refuses then
  return { 'paused' }
end

for index = 1, tiers do
  local seats, limit = KEYS[1 + 2 * index], limits[2 * index - 1]
  if limit >= 0 and call('ZCARD', seats) >= limit and alive(seats, now) >= limit then
    return append_uses({ 'full', now, index, version }, 3, limits, now)
  end
end
return { 'open', now }
