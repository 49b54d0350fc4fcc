-- times: what was learnt about service time. Reads only.
--
-- KEYS  service times of a pool or an api (hash, include/times.lua), any number
--
-- Replies  {'times', then for each key: 34 counts, their sum in ms, how many ETAs were told, how many were kept}
-- @include arguments
-- @include times

local fields = {}
for bucket = 0, last_bucket do
  fields[bucket + 1] = bucket
end
for _, field in ipairs({ 'ms', 'told', 'kept' }) do
  fields[#fields + 1] = field
end

local reply = { 'times' }
for _, key in ipairs(KEYS) do
  for _, value in ipairs(call('HMGET', key, unpack(fields))) do
    reply[#reply + 1] = tonumber(value or 0)
  end
end
return reply
