-- The holders hash: member → `<nonce>|<since>|<attempt>|<lease_ms>` of the attempt that holds its slots.
local function read_holder(key, member)
  local value = call('HGET', key, member)
  if not value then
    return nil
  end
  local nonce, since = string.match(value, '^([^|]*)|(%d+)|')
  return { nonce = nonce, since = tonumber(since) }
end

local function write_holder(key, member, nonce, since, attempt, lease_ms)
  call('HSET', key, member, nonce .. '|' .. whole(since) .. '|' .. attempt .. '|' .. lease_ms)
end
