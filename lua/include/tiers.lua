-- Tiers of one task, widest first. KEYS holds, from `first_key`, a pair for each: seats, slots. ARGV holds, from where it was read to, for each:
-- its label in the limits hash, its configured inSystem and running ('' = none), and 1 where its sets expire with their last lease.
local most_swept = 100

local function read_tiers(first_key)
  local tiers = {}
  for index = 1, (#KEYS - first_key + 1) / 2 do
    local key = first_key + 2 * (index - 1)
    tiers[index] = {
      seats = KEYS[key],
      slots = KEYS[key + 1],
      label = text('label', 128),
      configured_in_system = optional_integer('inSystem', 0, 1e6),
      configured_running = optional_integer('running', 0, 1e6),
      expires = integer('expires', 0, 1) == 1,
    }
  end
  return tiers
end

-- One read of the limits hash: epoch, version and what overrides the configured limits. Epoch nil = Redis lost its data, or never had any.
local function read_limits(limits_key, tiers)
  local fields = { 'epoch', 'version' }
  for _, tier in ipairs(tiers) do
    fields[#fields + 1] = 'inSystem:' .. tier.label
    fields[#fields + 1] = 'running:' .. tier.label
  end
  local values = redis.call('HMGET', limits_key, unpack(fields))
  for index, tier in ipairs(tiers) do
    tier.in_system = tonumber(values[2 * index + 1] or nil) or tier.configured_in_system
    tier.running = tonumber(values[2 * index + 2] or nil) or tier.configured_running
  end
  return { epoch = tonumber(values[1] or nil), version = tonumber(values[2] or nil) or 0 }
end

local function alive(key, now)
  return redis.call('ZCOUNT', key, '(' .. whole(now), '+inf')
end

-- How many live leases `key` holds, given that only `room` or more of them matter: sweeps what lapsed when the set looks full.
local function count_sweeping(key, now, full_at)
  local count = redis.call('ZCARD', key)
  if count < full_at then
    return count
  end
  local lapsed = redis.call('ZCOUNT', key, '-inf', whole(now))
  if lapsed == 0 then
    return count
  end
  redis.call('ZREMRANGEBYRANK', key, 0, math.min(lapsed, most_swept) - 1)
  return count - lapsed
end

-- Raises (never lowers) a lease, and lets a client's own set go with its last one.
local function hold(key, score, member, expires)
  redis.call('ZADD', key, 'GT', whole(score), member)
  if expires and redis.call('PEXPIREAT', key, whole(score), 'GT') == 0 and redis.call('PTTL', key) == -1 then
    redis.call('PEXPIREAT', key, whole(score))
  end
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
