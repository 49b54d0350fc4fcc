-- restore: puts back leases that DynamoDB's records name, while Redis has no epoch; the last call begins the new one.
--
-- KEYS[1]  limits (hash)     KEYS[2]  rebuild lock (string: nonce of the rebuilder)     KEYS[3]  holders (hash)     KEYS[4]  decision log (stream)
-- KEYS[5..] seats, slots of each tier of the one task, none with `epoch`
--
-- ARGV  now         ms, '' = server TIME
--       nonce       of the rebuilder
--       lock_ms     life of its lock from now
--       take        1 where the lock may be taken if it is free; else it must be held already
--       epoch       to begin, '' = not yet
--       member      `<tenant>|<id>`, '' = none
--       seat_until  ms, '' = no seat: of a cancelled task whose handler may still run
--       holder      nonce of the attempt that runs, '' = it waits
--       attempt     its number
--       permits
--       lease_ms    of that attempt, from now
--       names       of the tiers, for the log
--       shared      how many tiers are everybody's (include/tiers.lua)
--
-- Replies  {'restored'} | {'begun'}
--          {'begun_already'}   an epoch is there: nothing was changed
--          {'not_mine'}        the lock is another's, or was lost and not taken anew: nothing was changed
-- @include arguments
-- @include tiers
-- @include log
-- @include grant
-- @include holder

-- @include now
local nonce = text('nonce', 64)
local lock_ms = integer('lock_ms', 1, 600000)
local take = integer('take', 0, 1) == 1
local epoch = optional_integer('epoch', 1, 1e12)
local member = text('member', 256)
local seat_until = optional_integer('seat_until', 1e12, 7e12)
local holder = text('holder', 64)
local attempt = integer('attempt', 0, 1e6)
local permits = integer('permits', 1, 1000)
local lease_ms = integer('lease_ms', 1, 3600000)
local names = text('names', 512)
local shared = integer('shared', 0, 16)
if member ~= '' and not seat_until and holder == '' then
  refuse_argument('seat_until', 'a moment where a task is named that nobody runs')
end

if call('HEXISTS', KEYS[1], 'epoch') == 1 then
  return { 'begun_already' }
end
local owner = call('GET', KEYS[2])
if owner ~= nonce and (owner or not take) then
  return { 'not_mine' }
end
call('SET', KEYS[2], nonce, 'PX', lock_ms)

if epoch then
  call('HSET', KEYS[1], 'epoch', epoch)
  call('DEL', KEYS[2])
  write_log(KEYS[4], { 'epoch', whole(now), epoch })
  return { 'begun' }
end
if member ~= '' then
  for key = 5, #KEYS, 2 do
    local expires = (key - 5) / 2 >= shared
    if seat_until then
      hold(KEYS[key], whole(seat_until), member, expires)
    end
    for permit = 1, holder ~= '' and permits or 0 do
      hold(KEYS[key + 1], whole(now + lease_ms), slot_member(member, permit), expires)
    end
  end
  if holder ~= '' then
    write_holder(KEYS[3], member, holder, now, attempt, lease_ms)
  end
  write_log(KEYS[4], { 'restore', whole(now), member, whole(seat_until or 0), holder == '' and 0 or permits, names })
end
return { 'restored' }
