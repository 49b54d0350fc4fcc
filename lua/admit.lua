-- admit: one new task takes its dedup lock and a seat in every tier, or nothing anywhere. Sent twice, it charges once.
--
-- KEYS[1]   limits (hash)     KEYS[2]  lock of the dedup key (string)     KEYS[3]  decision log (stream)
-- KEYS[4..] seats, slots of each tier
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
--       most_ahead      refuse behind more waiting tasks of the pool than this, '' = any number
--       names           of the tiers, for the log
--       tiers           shared, then for each: label, inSystem, running (include/tiers.lua)
--
-- Replies  {'admitted', now, deadline, epoch, version, uses…}     deadline: the moment the seat lapses
--          {'duplicate', state, id, fingerprint}                  state: creating | created
--          {'rebuilding'}                                         no epoch: nothing is decided
--          {'never', tier index, running limit}                   more permits than configured
--          {'rejected', now, tier index, version, uses…}          first tier that is full; nothing was taken
--          {'behind', now, ahead, version, uses…}                 everything fits, but more than most_ahead wait; nothing was taken
-- Uses count leases that have lapsed but were not swept yet, as the check itself does: exact where a tier is full, else at most too high.
-- @include arguments
-- @include tiers
-- @include log
-- @include grant
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
local most_ahead = optional_integer('most_ahead', -1, 1e6)
local names = text('names', 512)
local tiers = read_tiers(4)

local lock = read_lock(KEYS[2])
if lock and lock.id ~= id and lock.id ~= replaces then
  return { 'duplicate', lock.state, lock.id, lock.fingerprint }
end

local limits = read_limits(KEYS[1], tiers)
if not limits.epoch then
  return { 'rebuilding' }
end

local held = lock and lock.id == id and call('ZSCORE', tiers[1].seats, member)
if held then
  return append_uses({ 'admitted', now, tonumber(held), limits.epoch, limits.version }, tiers, now)
end

for index, tier in ipairs(tiers) do
  local running = tier.configured_running
  if running and running > 0 and permits > running then
    return { 'never', index, running }
  end
end

local giving_back = lock ~= nil and lock.id == replaces and replaced ~= ''
local function free_for_replaced(tier)
  local score = giving_back and call('ZSCORE', tier.seats, replaced)
  return score and tonumber(score) > now and 1 or 0
end

-- Each task that runs has exactly one slot #1; a pool has at most 1,000 (maxRunning).
local function running_tasks(slots, at_ms)
  local tasks = 0
  for _, slot in ipairs(call('ZRANGEBYSCORE', slots, '(' .. whole(at_ms), '+inf', 'LIMIT', 0, 1000)) do
    if string.sub(slot, -2) == '#1' then
      tasks = tasks + 1
    end
  end
  return tasks
end

for index, tier in ipairs(tiers) do
  local limit = tier.in_system
  tier.seated = count_sweeping(KEYS[3], tier.seats, now, limit or math.huge)
  if limit and tier.seated >= limit and tier.seated - free_for_replaced(tier) >= limit then
    return append_uses({ 'rejected', now, index, limits.version }, tiers, now)
  end
end
if most_ahead then
  local ahead = alive(tiers[1].seats, now) - running_tasks(tiers[1].slots, now) - free_for_replaced(tiers[1])
  if ahead > most_ahead then
    return append_uses({ 'behind', now, ahead, limits.version }, tiers, now)
  end
end

local deadline = now + start_window_ms
local reply = { 'admitted', now, deadline, limits.epoch, limits.version }
local deadline_text = whole(deadline)
local entry = { 'admit', whole(now), member, deadline_text, names }
write_lock(KEYS[2], 'creating', id, fingerprint, lock_ms)
for index, tier in ipairs(tiers) do
  local seats = tier.seats
  if giving_back and call('ZREM', seats, replaced) == 1 then
    tier.seated = tier.seated - 1
  end
  call('ZADD', seats, deadline_text, member)
  if tier.expires then
    -- A set that was empty has no expiry yet, any other only moves its own on.
    if tier.seated == 0 then
      call('PEXPIREAT', seats, deadline_text)
    else
      call('PEXPIREAT', seats, deadline_text, 'GT')
    end
  end
  local use = 4 * index
  reply[use + 2] = tier.seated + 1
  reply[use + 3] = tier.in_system or -1
  reply[use + 4] = call('ZCARD', tier.slots)
  reply[use + 5] = tier.running or -1
  entry[5 + index] = tier.in_system or '-'
end
if giving_back then
  write_log(KEYS[3], { 'replace', whole(now), replaced })
end
write_log(KEYS[3], entry)
return reply
