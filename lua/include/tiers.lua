-- Tiers of one task, widest first. KEYS holds, from `first_key` to the end, a pair for each: seats, slots (sorted sets: member → moment the lease
-- lapses). ARGV holds `shared`, how many of them are everybody's (the rest is one client's each, and its sets expire with their last lease), then
-- for each its label in the limits hash and its configured inSystem and running ('' = none).
local most_swept = 100

local function read_tiers(first_key)
  local shared = integer('shared', 0, 16)
  local tiers = {}
  for key = first_key, #KEYS, 2 do
    tiers[#tiers + 1] = {
      seats = KEYS[key],
      slots = KEYS[key + 1],
      expires = #tiers >= shared,
      label = text('label', 128),
      configured_in_system = optional_integer('inSystem', 0, 1e6),
      configured_running = optional_integer('running', 0, 1e6),
    }
  end
  return tiers
end

-- One read of the limits hash, two where a limit was changed live: `overrides` counts the fields that override configured limits.
-- Epoch nil = Redis lost its data, or never had any.
local function read_limits(limits_key, tiers)
  local base = call('HMGET', limits_key, 'epoch', 'version', 'overrides')
  local overridden = {}
  if base[3] and base[3] ~= '0' then
    local fields = {}
    for index, tier in ipairs(tiers) do
      fields[2 * index - 1] = 'inSystem:' .. tier.label
      fields[2 * index] = 'running:' .. tier.label
    end
    overridden = call('HMGET', limits_key, unpack(fields))
  end
  for index, tier in ipairs(tiers) do
    tier.in_system = tonumber(overridden[2 * index - 1] or nil) or tier.configured_in_system
    tier.running = tonumber(overridden[2 * index] or nil) or tier.configured_running
  end
  return { epoch = tonumber(base[1] or nil), version = tonumber(base[2] or nil) or 0 }
end

local function alive(key, now)
  return call('ZCOUNT', key, '(' .. whole(now), '+inf')
end

-- Four integers a tier: inSystem in use and limit, running in use and limit; -1 = no limit.
local function append_uses(reply, tiers, now)
  for _, tier in ipairs(tiers) do
    reply[#reply + 1] = alive(tier.seats, now)
    reply[#reply + 1] = tier.in_system or -1
    reply[#reply + 1] = alive(tier.slots, now)
    reply[#reply + 1] = tier.running or -1
  end
  return reply
end

-- The slots of a task of n permits are n members.
local function slot_member(member, permit)
  return member .. '#' .. permit
end
