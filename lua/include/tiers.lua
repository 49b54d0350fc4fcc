-- Tiers of one task, widest first. KEYS holds, from `first_key` to the end or to `last_key`, a pair for each: seats, slots (sorted sets: member → moment the lease
-- lapses). ARGV holds
--   labels   of each in the limits hash, words apart by a space
--   limits   packed: inSystem and running of each, -1 = none
-- Limits are one flat list, [2i - 1] and [2i] those of tier i: a table for each tier would cost more than its check.
local most_swept = 100
local labels, configured

-- Says how many there are.
local function read_tiers(first_key, last_key)
  labels = text('labels', 1024)
  local count = (last_key or #KEYS) - first_key + 1
  configured = { packed_integers('limits', count) }
  configured[count + 1] = nil
  return count / 2
end

-- What a pool's `paused:<label>` field says: it starts nothing; with the second it takes no new tasks either.
local pause_admits, pause_refuses = 1, 2

-- The limits in force: those configured, but where a live one overrides it; and the pause of each tier that is a paused pool.
local function override(limits_key)
  local fields = {}
  for label in string.gmatch(labels, '%S+') do
    fields[#fields + 1] = 'inSystem:' .. label
    fields[#fields + 1] = 'running:' .. label
    fields[#fields + 1] = 'paused:' .. label
  end
  local limits, pauses = {}, {}
  for index, live in ipairs(call('HMGET', limits_key, unpack(fields))) do
    local tier, part = math.floor((index + 2) / 3), (index - 1) % 3
    if part == 2 then
      pauses[tier] = tonumber(live or nil)
    else
      limits[2 * tier - 1 + part] = tonumber(live or nil) or configured[2 * tier - 1 + part]
    end
  end
  return limits, pauses
end

-- Epoch (nil = Redis lost its data, or never had any), version, the limits in force and the pauses. One read of the limits hash, two where a
-- limit was changed live or a pool is paused: `overrides` counts the fields of both. Says at last whether that is so.
local function read_limits(limits_key)
  local base = call('HMGET', limits_key, 'epoch', 'version', 'overrides')
  local limits, pauses = configured, {}
  local overridden = base[3] and base[3] ~= '0'
  if overridden then
    limits, pauses = override(limits_key)
  end
  return tonumber(base[1] or nil), tonumber(base[2] or nil) or 0, limits, pauses, overridden
end

local function alive(key, now)
  return call('ZCOUNT', key, '(' .. whole(now), '+inf')
end

-- Four integers of one tier: inSystem in use and limit, running in use and limit; -1 = no limit.
local function append_use(reply, first_key, limits, index, now)
  local count, key = #reply, first_key + 2 * (index - 1)
  reply[count + 1] = alive(KEYS[key], now)
  reply[count + 2] = limits[2 * index - 1]
  reply[count + 3] = alive(KEYS[key + 1], now)
  reply[count + 4] = limits[2 * index]
end

local function append_uses(reply, first_key, limits, now)
  for index = 1, #limits / 2 do
    append_use(reply, first_key, limits, index, now)
  end
  return reply
end

-- The slots of a task of n permits are n members.
local function slot_member(member, permit)
  return member .. '#' .. permit
end
