-- release: gives back what one attempt holds and, at a task's end, its seats and its place as the answer to duplicates. Twice is a no-op.
--
-- KEYS[1]   holders (hash, include/holder.lua)     KEYS[2]  lock of the dedup key (string)     KEYS[3]  decision log (stream)
-- KEYS[4]   service times of the pool (hash)       KEYS[5]  service times of the api (hash)
-- KEYS[6..] seats, slots of each tier
--
-- ARGV  now          ms, '' = server TIME
--       member       `<tenant>|<id>`
--       id           of the task
--       nonce        of this attempt; '' = hold no slots
--       permits
--       served       1 where the handler came to its end, so that the time it took is one to learn from
--       ended        1 where the task is terminal or was never created: its seats go too
--       pointer_ms   how long the pointer still answers duplicates, 0 = no longer; counts only with `ended`
--
-- Replies  {'released'} | {'gone'}   gone: no slots of this nonce were held
-- @include arguments
-- @include tiers
-- @include lock
-- @include log
-- @include holder
-- @include times

-- @include now
local member = text('member', 256)
local id = text('id', 64)
local nonce = text('nonce', 64)
local permits = integer('permits', 1, 1000)
local served = integer('served', 0, 1) == 1
local ended = integer('ended', 0, 1) == 1
local pointer_ms = integer('pointer_ms', 0, 8e9)

local holder = (nonce ~= '' or ended) and read_holder(KEYS[1], member)
local holds = holder and holder.nonce == nonce
if ended and holder and not holds and tonumber(call('ZSCORE', KEYS[7], slot_member(member, 1)) or 0) <= now then
  -- Its attempt never told that it was over.
  call('HDEL', KEYS[1], member)
end
if holds then
  call('HDEL', KEYS[1], member)
  if served then
    learn_time(KEYS[4], now - holder.since)
    learn_time(KEYS[5], now - holder.since)
  end
end
local seats_gone = 0
for key = 6, #KEYS, 2 do
  if holds then
    for permit = 1, permits do
      call('ZREM', KEYS[key + 1], slot_member(member, permit))
    end
  end
  if ended then
    seats_gone = seats_gone + call('ZREM', KEYS[key], member)
  end
end
local lock = ended and read_lock(KEYS[2])
if lock and lock.id == id then
  if pointer_ms == 0 then
    call('DEL', KEYS[2])
  else
    call('PEXPIRE', KEYS[2], whole(pointer_ms))
  end
end
if holds or seats_gone > 0 then
  write_log(KEYS[3], { 'release', whole(now), member, holds and 1 or 0, ended and 1 or 0 })
end
return { holds and 'released' or 'gone' }
