-- What is kept of a rate rule for one identity, by its form (include/rate-forms.lua). A state of another form counts as none, and one of which nothing is
-- left to know is gone.
--   w|count|opened|ends                            `opened`: of what was charged before nothing is known any more
--   b|level|at|opened|burst|refill|token           level in units, below 0 where more is owed
--   <tat>                                          µs: when everything is there again; virtual scheduling of ITU-T I.371 (GCRA)

-- What comes back with time: all that is lacking, or `per_ms` for each ms. No product is larger than what it is compared with.
local function refilled(left, cap, per_ms, ms)
  if ms >= math.ceil((cap - left) / per_ms) then
    return cap
  end
  return left + ms * per_ms
end

local function read_window(rate, state, now, hash)
  local count, opened, ends = string.match(state, '^w|(%d+)|(%d+)|(%d+)$')
  count, opened, ends = tonumber(count or 0), tonumber(opened or now), tonumber(ends or 0)
  if ends <= now then
    count, opened, ends = 0, now, nil
  end
  -- Further away only where the clock stepped back or the window was made shorter.
  if not ends or ends - now > rate.period then
    local phase = rate.kind == 'hashed' and hash or rate.kind == 'quota' and now or 0
    ends = now + rate.period - (now - phase) % rate.period
  end
  rate.left, rate.opened, rate.ends = rate.cap - count, math.min(opened, now), ends
end

local function read_bucket(rate, state, now, burst, refill, token)
  rate.left, rate.opened = rate.cap, now
  local level, at_ms, opened, burst_then, refill_then, token_then =
    string.match(state, '^b|(-?%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)$')
  if not level then
    return
  end
  level, burst_then, token_then = tonumber(level), tonumber(burst_then), tonumber(token_then)
  local full = burst_then * token_then
  local left = refilled(level, full, tonumber(refill_then), math.max(0, now - at_ms))
  if left == full then
    return
  end
  if token_then ~= token then
    local tokens = math.floor(left / token_then)
    left = tokens * token + math.floor((left - tokens * token_then) * token / token_then)
  end
  -- A larger burst is there at once, less what was used of the smaller one.
  left = left + math.max(0, burst - burst_then) * token
  rate.left, rate.opened = math.max(-rate.cap, math.min(rate.cap, left)), math.min(tonumber(opened), now)
end

local function read_tat(rate, state, now)
  local tat = string.match(state, '^%d+$')
  local used = tat and tonumber(tat) - now * 1000 or 0
  rate.left = rate.cap - math.max(0, math.min(2 * rate.cap, used))
end

-- What is left of a rule in force: `left` of `cap` units, `one` of them for an amount of 1; `per_ms` come back each ms, or all at `ends`.
local function read_rate(index, key, form, now, hash)
  local kind, a, b, c = read_form(form)
  local rate = { index = index, key = key, kind = kind, limit = a, one = 1, cap = a, period = b }
  local state = call('GET', key) or ''
  if kind == 'bucket' then
    rate.one, rate.cap, rate.per_ms, rate.period = c, a * c, b, math.ceil(a * c / b)
    rate.suffix = '|' .. a .. '|' .. b .. '|' .. whole(c)
    read_bucket(rate, state, now, a, b, c)
  elseif kind == 'gcra' then
    rate.one, rate.cap, rate.per_ms, rate.period = b, a * b, 1000, math.ceil(a * b / 1000)
    read_tat(rate, state, now)
  else
    read_window(rate, state, now, hash)
  end
  return rate
end

-- ms until `units` are left, 0 = they are.
local function wait_for(rate, units, now)
  if rate.left >= units then
    return 0
  end
  return rate.per_ms and math.ceil((units - rate.left) / rate.per_ms) or rate.ends - now
end

-- Keeps the state until everything is there again.
local function write_rate(rate, now)
  if rate.left >= rate.cap then
    call('DEL', rate.key)
    return
  end
  local ends = whole(now + wait_for(rate, rate.cap, now))
  local state
  if rate.kind == 'gcra' then
    state = whole(now * 1000 + rate.cap - rate.left)
  elseif rate.kind == 'bucket' then
    state = 'b|' .. whole(rate.left) .. '|' .. whole(now) .. '|' .. whole(rate.opened) .. rate.suffix
  else
    state = 'w|' .. whole(rate.cap - rate.left) .. '|' .. whole(rate.opened) .. '|' .. whole(rate.ends)
  end
  call('SET', rate.key, state, 'PXAT', ends)
end
