-- rate: lets one request through by its rate rules alone, and charges each, or charges none. Sent twice, it charges twice: no caller sends it again.
--
-- KEYS  numbers of rules set live, state of each rule (include/rates.lua)
--
-- ARGV  now     ms, '' = server TIME
--       rules   (include/rates.lua)
--
-- Replies, packed as a letter and doubles because a client reads a list of integers for longer than this script runs
--   p rates…                       passed
--   l index wait_ms version rates… limited: the rule with the longest wait; nothing was charged
--   n index limit                  never: more than that rule ever lets through at once
-- @include arguments
-- @include rates

-- @include now
local first_key = 1
-- @include read-rules
-- @include judge-rates
if never then
  return struct.pack('<c1dd', 'n', never, most)
end
if not short then
-- @include charge-rates
end
-- @include end-rates
if short then
  local version = tonumber(string.match(states[1] or '0', '^%d+'))
  return struct.pack('<c1ddd' .. string.rep('d', last), 'l', short, wait, version, unpack(rates, 1, last))
end
return struct.pack('<c1' .. string.rep('d', last), 'p', unpack(rates, 1, last))
