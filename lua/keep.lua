-- keep: a seat lasts until `until`, for a task that goes back to the queue; a seat's end only grows and a missing one stays missing.
--
-- KEYS  seats, slots of each tier
--
-- ARGV  member     `<tenant>|<id>`
--       until      ms
--       shared     how many tiers are everybody's (include/tiers.lua)
--
-- Replies  {'kept'} | {'lost'}   lost: a seat was missing; the others were raised, the next acquire puts it back
-- @include arguments
-- @include tiers
-- @include log
-- @include grant

local member = text('member', 256)
local until_ms = integer('until', 1e12, 7e12)
local shared = integer('shared', 0, 16)

local until_text = whole(until_ms)
local kept = true
for key = 1, #KEYS, 2 do
  if call('ZSCORE', KEYS[key], member) then
    hold(KEYS[key], until_text, member, (key - 1) / 2 >= shared)
  else
    kept = false
  end
end
return { kept and 'kept' or 'lost' }
