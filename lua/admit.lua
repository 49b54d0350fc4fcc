-- admit: one new task takes its dedup lock and a seat in every tier, or nothing anywhere. Sent twice, it charges once.
--
-- KEYS[1]   limits (hash)          KEYS[2]  lock of the dedup key (string)
-- KEYS[3..] seats, slots of each tier (sorted sets: member → moment the lease lapses)
--
-- ARGV  now             ms, '' = server TIME (tests name one)
--       id              of the new task
--       member          `<tenant>|<id>`
--       fingerprint
--       replaces        id of the terminal task this one takes the place of, '' = none
--       replaced        member of that task, '' = none
--       lock_ms         life of the creation lock
--       start_window_ms life of a seat before its task has started
--       permits         slots the task will take in every tier
--       per tier        label, inSystem, running, expires (include/tiers.lua)
--
-- Replies  {'admitted', now, deadline, epoch, version, uses…}     deadline: the moment the seat lapses
--          {'duplicate', state, id, fingerprint}                  state: creating | created
--          {'rebuilding'}                                         no epoch: nothing is decided
--          {'never', tier index, running limit}                   more permits than configured
--          {'rejected', now, tier index, version, uses…}          first tier that is full; nothing was taken
-- @include arguments
-- @include tiers
-- @include lock

local now = moment()
local id = text('id', 64)
local member = text('member', 256)
local fingerprint = text('fingerprint', 128)
local replaces = text('replaces', 64)
local replaced = text('replaced', 256)
local lock_ms = integer('lock_ms', 1, 600000)
local start_window_ms = integer('start_window_ms', 1, 86400000)
local permits = integer('permits', 1, 1000)
local tiers = read_tiers(3)

local lock = read_lock(KEYS[2])
if lock and lock.id ~= id and lock.id ~= replaces then
  return { 'duplicate', lock.state, lock.id, lock.fingerprint }
end

local limits = read_limits(KEYS[1], tiers)
if not limits.epoch then
  return { 'rebuilding' }
end

local function admitted(deadline)
  return append_uses({ 'admitted', now, deadline, limits.epoch, limits.version }, tiers, now)
end

local held = lock and lock.id == id and redis.call('ZSCORE', tiers[1].seats, member)
if held then
  return admitted(tonumber(held))
end

for index, tier in ipairs(tiers) do
  local running = tier.configured_running
  if running and running > 0 and permits > running then
    return { 'never', index, running }
  end
end

local giving_back = lock ~= nil and lock.id == replaces and replaced ~= ''
for index, tier in ipairs(tiers) do
  if tier.in_system then
    local count = count_sweeping(tier.seats, now, tier.in_system)
    if count >= tier.in_system and giving_back then
      local score = redis.call('ZSCORE', tier.seats, replaced)
      if score and tonumber(score) > now then
        count = count - 1
      end
    end
    if count >= tier.in_system then
      return append_uses({ 'rejected', now, index, limits.version }, tiers, now)
    end
  end
end

local deadline = now + start_window_ms
write_lock(KEYS[2], 'creating', id, fingerprint, lock_ms)
for _, tier in ipairs(tiers) do
  if giving_back then
    redis.call('ZREM', tier.seats, replaced)
  end
  hold(tier.seats, deadline, member, tier.expires)
end
return admitted(deadline)
