-- What grants and gives back leases; needs tiers and log.

-- How many of the `count` leases in `key` are live; sweeps those that are not. Only where a set seems full: the common path is one ZCARD.
local function sweep(log_key, key, now, count)
  local lapsed = call('ZCOUNT', key, '-inf', whole(now))
  if lapsed == 0 then
    return count
  end
  local dropped = call('ZRANGE', key, 0, math.min(lapsed, most_swept) - 1)
  call('ZREMRANGEBYRANK', key, 0, #dropped - 1)
  write_log(log_key, { 'sweep', whole(now), string.match(key, '}:(.*)$'), lapsed - #dropped, table.concat(dropped, ' ') })
  return count - lapsed
end

-- Raises (never lowers) a lease to a moment, given as text, and lets a client's own set go with its last one.
local function hold(key, moment_text, member, expires)
  call('ZADD', key, 'GT', moment_text, member)
  if expires and call('PEXPIREAT', key, moment_text, 'GT') == 0 and call('PTTL', key) == -1 then
    call('PEXPIREAT', key, moment_text)
  end
end
