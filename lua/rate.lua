-- rate: lets one request through by its rate rules alone, and charges each, or charges none. Sent twice, it charges twice: no caller sends it again.
--
-- KEYS[1]   limits (hash)
-- KEYS[2..] state of each rule (include/rates.lua)
--
-- ARGV  now     ms, '' = server TIME
--       rules   (include/rates.lua)
--
-- Replies, packed as a letter and doubles because a client reads a list of integers for longer than this script runs
--   p version rates…               passed
--   l index wait_ms version rates… limited: the rule with the longest wait; nothing was charged
--   n index limit                  never: more than that rule ever lets through at once
-- @include arguments
-- @include rate-states
-- @include rates

local now = moment()
local rules = packed('rules', rule_bytes * (#KEYS - 1))

local base = call('HMGET', KEYS[1], 'version', 'overrides')
local version = tonumber(base[1] or 0)
local live = base[2] and base[2] ~= '0' and live_forms(KEYS[1], 2)
-- As long from the start as with five rules: to grow a table costs more than a command.
local rates = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
local short, wait, never, most = judge_rates(rates, 2, now, rules, live)
if never then
  return struct.pack('<c1dd', 'n', never, most)
end
if short then
  local last = end_rates(rates, live)
  return struct.pack('<c1ddd' .. string.rep('d', last), 'l', short, wait, version, unpack(rates, 1, last))
end
charge_rates(rates, 2, now)
local last = end_rates(rates, live)
return struct.pack('<c1d' .. string.rep('d', last), 'p', version, unpack(rates, 1, last))
