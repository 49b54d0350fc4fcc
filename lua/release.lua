-- release: gives back what one attempt holds and, at a task's end, its seats and its place as the answer to duplicates. Twice is a no-op.
--
-- KEYS[1]   holders (hash)     KEYS[2]  lock of the dedup key (string)
-- KEYS[3..] seats, slots of each tier
--
-- ARGV  member       `<tenant>|<id>`
--       id           of the task
--       nonce        of this attempt; '' = hold no slots
--       permits
--       ended        1 where the task is terminal or was never created: its seats go too
--       pointer_ms   how long the pointer still answers duplicates, 0 = no longer; counts only with `ended`
--
-- Replies  {'released'} | {'gone'}   gone: no slots of this nonce were held
-- @include arguments
-- @include tiers
-- @include lock

local member = text('member', 256)
local id = text('id', 64)
local nonce = text('nonce', 64)
local permits = integer('permits', 1, 1000)
local ended = integer('ended', 0, 1) == 1
local pointer_ms = integer('pointer_ms', 0, 8e9)

local holds = nonce ~= '' and redis.call('HGET', KEYS[1], member) == nonce
if holds then
  redis.call('HDEL', KEYS[1], member)
end
for key = 3, #KEYS, 2 do
  if holds then
    for permit = 1, permits do
      redis.call('ZREM', KEYS[key + 1], slot_member(member, permit))
    end
  end
  if ended then
    redis.call('ZREM', KEYS[key], member)
  end
end
local lock = ended and read_lock(KEYS[2])
if lock and lock.id == id then
  if pointer_ms == 0 then
    redis.call('DEL', KEYS[2])
  else
    redis.call('PEXPIRE', KEYS[2], whole(pointer_ms))
  end
end
return { holds and 'released' or 'gone' }
