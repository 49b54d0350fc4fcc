-- rate: lets one request through by its rate rules alone, and charges each, or charges none. Sent twice, it charges twice: no caller sends it again.
--
-- KEYS[1]   limits (hash)
-- KEYS[2..] state of each rule (include/rates.lua)
--
-- ARGV  now          ms, '' = server TIME
--       rules, asks  of the rules (include/rates.lua)
--
-- Replies  {'passed', version, rates…}
--          {'limited', index, wait_ms, version, rates…}    the rule with the longest wait; nothing was charged
--          {'never', index, limit}                         more than that rule ever lets through at once
-- @include arguments
-- @include rate-forms
-- @include rate-states
-- @include rates

local now = moment()
read_rules(2)

local base = call('HMGET', KEYS[1], 'version', 'overrides')
local version = tonumber(base[1] or 0)
if base[2] and base[2] ~= '0' then
  override_forms(KEYS[1])
end
local rates, short, wait, never = judge_rates(2, now)
if never then
  return { 'never', never.index, never.limit }
end
if short then
  return append_rates({ 'limited', short.index, wait, version }, rates, now)
end
charge_rates(rates, now)
return append_rates({ 'passed', version }, rates, now)
