-- A block of include/rates.lua. Takes `first_key`, `limits_key` and `overridden`; leaves `live`: the forms that stand over those that are configured, by
-- the index of their rule.
local live
if overridden then
-- @include rate-forms
  local fields = {}
  for at_key = first_key, #KEYS do
    fields[#fields + 1] = 'rate:' .. string.match(KEYS[at_key], rule_in_key)
  end
  live = {}
  for index, form in ipairs(call('HMGET', limits_key, unpack(fields))) do
    live[index] = form and { read_form(form) }
  end
end
