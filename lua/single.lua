-- single: of those that ask by one name only one goes on, until it gives the place back or its time is over.
--
-- KEYS[1]  place (string: nonce of who has it)
--
-- ARGV  nonce
--       last_ms  life of the place from now, 0 = give it back
--
-- Replies  {'mine'} | {'taken'}   taken: another one has it; nothing was changed
-- @include arguments

local nonce = text('nonce', 64)
local last_ms = integer('last_ms', 0, 3600000)

local owner = call('GET', KEYS[1])
if owner and owner ~= nonce then
  return { 'taken' }
end
if last_ms == 0 then
  call('DEL', KEYS[1])
else
  call('SET', KEYS[1], nonce, 'PX', last_ms)
end
return { 'mine' }
