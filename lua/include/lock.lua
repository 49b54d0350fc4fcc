-- The dedup key's value: `<state>|<task id>|<fingerprint>`, state `creating` (a lock) or `created` (a pointer).
local function read_lock(key)
  local value = call('GET', key)
  if not value then
    return nil
  end
  local state, id, fingerprint = string.match(value, '^(%a+)|([^|]+)|(.*)$')
  return { state = state, id = id, fingerprint = fingerprint }
end

local function write_lock(key, state, id, fingerprint, ttl_ms)
  call('SET', key, state .. '|' .. id .. '|' .. fingerprint, 'PX', whole(ttl_ms))
end
