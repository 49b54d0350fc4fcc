-- keep: a seat lasts until `until`, for a task that goes back to the queue; a seat's end only grows and a missing one stays missing.
--
-- KEYS  seats, slots of each tier
--
-- ARGV  member     `<tenant>|<id>`
--       until      ms
--       expires    one for each tier: 1 where its sets expire with their last lease
--
-- Replies  {'kept'} | {'lost'}   lost: a seat was missing; the others were raised, the next acquire puts it back
-- @include arguments
-- @include tiers

local member = text('member', 256)
local until_ms = integer('until', 1e12, 7e12)
local tiers = {}
for index = 1, #KEYS / 2 do
  tiers[index] = { seats = KEYS[2 * index - 1], expires = integer('expires', 0, 1) == 1 }
end

local kept = true
for _, tier in ipairs(tiers) do
  if redis.call('ZSCORE', tier.seats, member) then
    hold(tier.seats, until_ms, member, tier.expires)
  else
    kept = false
  end
end
return { kept and 'kept' or 'lost' }
