-- peek: would a post be refused now? Reads only, charges nothing, decides nothing that admit does not decide again.
--
-- KEYS[1]   limits (hash)
-- KEYS[2]   lock of the dedup key (string), or the limits key again where no dedup key is known yet
-- KEYS[3..] seats, slots of each tier
--
-- ARGV  now        ms, '' = server TIME
--       keyed      1 where KEYS[2] is a dedup key, else 0
--       tiers      shared, then for each: label, inSystem, running (include/tiers.lua)
--
-- Replies  {'duplicate', state, id, fingerprint}
--          {'rebuilding'}
--          {'full', now, tier index, version, uses…}
--          {'open'}
-- @include arguments
-- @include tiers
-- @include lock

local now = moment()
local keyed = integer('keyed', 0, 1) == 1
local tiers = read_tiers(3)

local lock = keyed and read_lock(KEYS[2])
if lock then
  return { 'duplicate', lock.state, lock.id, lock.fingerprint }
end

local limits = read_limits(KEYS[1], tiers)
if not limits.epoch then
  return { 'rebuilding' }
end

for index, tier in ipairs(tiers) do
  local limit = tier.in_system
  if limit and call('ZCARD', tier.seats) >= limit and alive(tier.seats, now) >= limit then
    return append_uses({ 'full', now, index, limits.version }, tiers, now)
  end
end
return { 'open' }
