-- rate: lets one request through by its rate rules alone, and charges each, or charges none. Sent twice, it charges twice: no caller sends it again.
--
-- KEYS[1]   limits (hash)
-- KEYS[2..] state of each rule (include/rates.lua)
--
-- ARGV  now          ms, '' = server TIME
--       rules, names of the rules (include/rates.lua)
--
-- Replies  {'passed', version, rates…}
--          {'limited', index, wait_ms, version, rates…}    the rule with the longest wait; nothing was charged
--          {'never', index, limit}                         more than that rule ever lets through at once
-- @include arguments
-- @include rate-states
-- @include rates

local now = moment()
local rules, names = read_rules(2)

local base = call('HMGET', KEYS[1], 'version', 'overrides')
local version = tonumber(base[1] or 0)
local live = base[2] and base[2] ~= '0' and live_forms(KEYS[1], read_names(names, 2))
-- As long from the start as with five rules: to grow a table costs more than a command.
local rates = { 'passed', version, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
local short, wait, never, most = judge_rates(rates, 2, 2, now, rules, live)
if never then
  return { 'never', never, most }
end
if short then
  return append_rates({ 'limited', short, wait, version }, rates, 2)
end
charge_rates(rates, 2, 2, now)
return rates
