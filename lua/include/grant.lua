-- What grants and gives back leases; needs tiers and log.

-- How many live leases `key` holds. Nothing is swept unless `full_at` or more are there: the common path is one ZCARD.
local function count_sweeping(log_key, key, now, full_at)
  local count = call('ZCARD', key)
  if count < full_at then
    return count
  end
  local lapsed = call('ZCOUNT', key, '-inf', whole(now))
  if lapsed == 0 then
    return count
  end
  local dropped = call('ZRANGE', key, 0, math.min(lapsed, most_swept) - 1)
  call('ZREMRANGEBYRANK', key, 0, #dropped - 1)
  write_log(log_key, { 'sweep', whole(now), string.match(key, '}:(.*)$'), lapsed - #dropped, table.concat(dropped, ' ') })
  return count - lapsed
end

-- Raises (never lowers) a lease, and lets a client's own set go with its last one.
local function hold(key, score, member, expires)
  local moment_text = whole(score)
  call('ZADD', key, 'GT', moment_text, member)
  if expires and call('PEXPIREAT', key, moment_text, 'GT') == 0 and call('PTTL', key) == -1 then
    call('PEXPIREAT', key, moment_text)
  end
end
