-- confirm: the creation lock becomes the pointer to a task that now exists; also when the lock has lapsed, never over another id.
--
-- KEYS[1]  lock of the dedup key (string)
--
-- ARGV  id, fingerprint
--       pointer_ms   life of the pointer
--
-- Replies  {'confirmed'} | {'other', id}   another task holds the key; nothing was changed
-- @include arguments
-- @include lock

local id = text('id', 64)
local fingerprint = text('fingerprint', 128)
local pointer_ms = integer('pointer_ms', 1, 8e9)

local lock = read_lock(KEYS[1])
if lock and lock.id ~= id then
  return { 'other', lock.id }
end
write_lock(KEYS[1], 'created', id, fingerprint, pointer_ms)
return { 'confirmed' }
