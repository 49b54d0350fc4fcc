-- Token buckets and GCRA (include/rate-states.lua), which count all the time.

-- What comes back with time: all that is lacking, or `per_ms` for each ms. No product is larger than what it is compared with.
local function refilled(left, cap, per_ms, ms)
  if ms >= math.ceil((cap - left) / per_ms) then
    return cap
  end
  return left + ms * per_ms
end

local function read_bucket(flow, state, now, burst, refill, token)
  if #state ~= 49 then
    return
  end
  local mark, level, at_ms, opened, burst_then, refill_then, token_then = struct.unpack('<c1dddddd', state)
  if mark ~= 'b' then
    return
  end
  local full = burst_then * token_then
  local left = refilled(level, full, refill_then, math.max(0, now - at_ms))
  if left == full then
    return
  end
  if token_then ~= token then
    local tokens = math.floor(left / token_then)
    left = tokens * token + math.floor((left - tokens * token_then) * token / token_then)
  end
  -- A larger burst is there at once, less what was used of the smaller one.
  left = left + math.max(0, burst - burst_then) * token
  flow.left, flow.opened = math.max(-flow.cap, math.min(flow.cap, left)), math.min(opened, now)
end

local function read_tat(flow, state, now)
  if #state ~= 9 then
    return
  end
  local mark, tat = struct.unpack('<c1d', state)
  local used = mark == 'g' and tat - now * 1000 or 0
  flow.left = flow.cap - math.max(0, math.min(2 * flow.cap, used))
end

-- What is left of a rule that counts all the time: `left` of `cap` units, `one` of them for an amount of 1; `per_ms` come back each ms.
local function read_flow(state, now, kind, a, b, c)
  local flow = { kind = kind, opened = now }
  if kind == 'b' then
    flow.burst, flow.one, flow.cap, flow.per_ms = a, c, a * c, b
    flow.left = flow.cap
    read_bucket(flow, state, now, a, b, c)
  else
    flow.one, flow.cap, flow.per_ms = b, a * b, 1000
    flow.left = flow.cap
    read_tat(flow, state, now)
  end
  return flow
end

-- ms until `units` are left, 0 = they are.
local function wait_for(flow, units)
  if flow.left >= units then
    return 0
  end
  return math.ceil((units - flow.left) / flow.per_ms)
end

-- A state is kept until everything is there again.
local function write_flow(key, flow, now)
  if flow.left >= flow.cap then
    call('DEL', key)
    return
  end
  local state
  if flow.kind == 'b' then
    state = struct.pack('<c1dddddd', 'b', flow.left, now, flow.opened, flow.burst, flow.per_ms, flow.one)
  else
    state = struct.pack('<c1d', 'g', now * 1000 + flow.cap - flow.left)
  end
  call('SET', key, state, 'PXAT', whole(now + wait_for(flow, flow.cap)))
end
