-- limits: live limits and pauses come into force, unless newer ones are. The version in force may come again: a deployment can change what it
-- amounts to.
--
-- KEYS[1]  limits (hash)     KEYS[2]  decision log (stream)     KEYS[3]  what concerns rate rules (string, include/rates.lua)
--
-- ARGV  now        ms, '' = server TIME
--       version    grows with each change, from 1
--       fields     `inSystem:<label>`, number, `running:<label>`, number, `paused:<label>`, 1 or 2 (include/tiers.lua), `rate:<rule>`, form
--                  (include/rate-forms.lua), …: every override and pause, and none beside them
--
-- Replies  {'applied'} | {'older', version in force}
-- @include arguments
-- @include log
-- @include rate-forms

local most_fields = 2000
local most_of_field = { inSystem = 1e6, running = 1e6, paused = 2 }

local function is_override(field)
  return most_of_field[string.match(field, '^(%a+):') or ''] ~= nil
end

-- @include now
local version = integer('version', 1, 1e12)
local given = (#ARGV - at) / 2
if given % 1 ~= 0 or given > most_fields then
  refuse_argument('fields', 'pairs, at most ' .. most_fields)
end
local overrides, rates = {}, {}
for index = 1, given do
  local field = text('field', 160)
  local rule = string.match(field, '^rate:([%w-]+)$')
  if rule then
    local form = text(field, 80)
    read_form(form)
    rates[#rates + 1] = rule .. '=' .. form
  elseif is_override(field) then
    overrides[field] = whole(integer(field, 0, most_of_field[string.match(field, '^%a+')]))
  else
    refuse_argument('field', 'inSystem:<label>, running:<label>, paused:<label> or rate:<rule>')
  end
end

local current = tonumber(call('HGET', KEYS[1], 'version') or 0)
if current > version then
  return { 'older', current }
end
local changed = current < version
local before = call('HGETALL', KEYS[1])
for index = 1, #before, 2 do
  local field = before[index]
  if is_override(field) then
    changed = changed or overrides[field] ~= before[index + 1]
    if not overrides[field] then
      call('HDEL', KEYS[1], field)
    end
  end
end
local entry = { 'limits', whole(now), version }
for field, value in pairs(overrides) do
  changed = changed or call('HEXISTS', KEYS[1], field) == 0
  call('HSET', KEYS[1], field, value)
  entry[#entry + 1] = field .. '=' .. value
end
for _, rate in ipairs(rates) do
  entry[#entry + 1] = 'rate:' .. rate
end
local live_rates = whole(version) .. ' ' .. table.concat(rates, ' ')
changed = changed or live_rates ~= call('GET', KEYS[3])
call('SET', KEYS[3], live_rates)
call('HSET', KEYS[1], 'version', version, 'overrides', given)
if changed then
  write_log(KEYS[2], entry)
end
return { 'applied' }
