-- Service times of a pool or an api, one hash: counts in log-spaced buckets (field = index), their number (`samples`) and sum (`ms`).
-- lib/domain/service-times.ts has the same rule and reads them.
local last_bucket = 33
local most_samples = 200

-- The largest i with 100·2^i <= ms², from 0 to the last: whole numbers, so that every edge is where the reader has it.
local function bucket_of(ms)
  local square, bucket, next_edge = ms * ms, 0, 200
  while bucket < last_bucket and next_edge <= square do
    bucket, next_edge = bucket + 1, next_edge * 2
  end
  return bucket
end

-- Adds one; halves everything when there are enough, so that what was long ago is forgotten.
local function learn_time(key, measured_ms)
  -- The clock may have stepped back meanwhile.
  local ms = math.max(0, measured_ms)
  call('HINCRBY', key, bucket_of(ms), 1)
  call('HINCRBY', key, 'ms', ms)
  if call('HINCRBY', key, 'samples', 1) <= most_samples then
    return
  end
  local fields, samples, before = call('HGETALL', key), 0, {}
  for index = 1, #fields, 2 do
    before[fields[index]] = tonumber(fields[index + 1])
    if tonumber(fields[index]) then
      local half = math.floor(fields[index + 1] / 2)
      samples = samples + half
      call('HSET', key, fields[index], half)
    end
  end
  -- The mean stays what it was: the sum shrinks as the counts did.
  call('HSET', key, 'samples', samples, 'ms', whole(math.floor(before.ms * samples / before.samples)))
end
