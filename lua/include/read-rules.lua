-- A block of include/rates.lua. Takes `first_key`; leaves `rules`, from the next argument.
at = at + 1
local rules = ARGV[at]
if rules == nil or #rules ~= rule_bytes * (#KEYS - first_key) then
  refuse_argument('rules', rule_bytes .. ' bytes for each')
end
