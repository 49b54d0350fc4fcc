-- settle: what a task was charged becomes what it should have been. The amounts said are absolute, so said twice they count once. What is given back is
-- only what the rule has not forgotten: nothing of a window that is over or a bucket that was full since, and with gcra less what has come back since.
-- What is missing is owed, down to one burst.
--
-- KEYS[1]   charges of the task (string: `<at>|<attempt>|<rule>=<amount> …`, as admit wrote them)
-- KEYS[2..] numbers of rules set live, state of each rule (include/rates.lua)
--
-- ARGV  now          ms, '' = server TIME
--       attempt      that says so; what an earlier one says after it does not count
--       over         1: for the last time, the charges are forgotten
--       rules        (include/rates.lua); an amount of -1 leaves what is charged
--
-- Replies  {'settled'}
--          {'gone'}       nothing is charged to this task any more, or never was
--          {'stale'}      a later attempt has settled it
-- @include arguments
-- @include rates

-- @include now
local attempt = integer('attempt', 0, 1e6)
local over = integer('over', 0, 1) == 1
local first_key = 2
-- @include read-rules

local charges = call('GET', KEYS[1])
if not charges then
  return { 'gone' }
end
local charged_at, settled_by, words = string.match(charges, '^(%d+)|(%d+)|(.*)$')
charged_at = tonumber(charged_at)
if attempt < tonumber(settled_by) then
  return { 'stale' }
end
local amounts_charged = {}
for name, amount in string.gmatch(words, '(%S+)=(%d+)') do
  amounts_charged[name] = tonumber(amount)
end

local function settled(budget, by)
  -- Past 2^53 not exact, but then more than two bursts, which no level holds.
  local units = math.abs(by) * budget.one
  if by > 0 then
    return math.max(math.min(budget.left, -budget.cap), budget.left - units)
  end
  if budget.kind == 'g' then
    units = math.max(0, units - math.max(0, now - charged_at) * budget.per_ms)
  elseif charged_at < budget.opened then
    units = 0
  end
  return math.min(budget.cap, budget.left + units)
end

-- @include judge-rates
for index = 1, asked do
  local key, amount, resets = KEYS[2 + index], amounts[index], rates[2 * index]
  local rule = string.match(key, rule_in_key)
  local by = amount >= 0 and amounts_charged[rule] and amount - amounts_charged[rule] or 0
  if by ~= 0 then
    amounts_charged[rule] = amount
  end
  -- What changes nothing writes nothing: a window that is over stays over.
  if by ~= 0 and resets >= 0 then
    local flow, limit = flows[index], limits_now[index]
    local budget = flow or { left = rates[2 * index - 1], cap = limit, one = 1, opened = opened_at[index] }
    local before, after = budget.left, settled(budget, by)
    if after ~= before then
      budget.left = after
      if flow then
        write_flow(key, flow, now)
      else
        local count = limit - after
-- @include write-window
      end
    end
  end
end
local kept = {}
if over then
  call('DEL', KEYS[1])
else
  for name, amount in pairs(amounts_charged) do
    kept[#kept + 1] = name .. '=' .. amount
  end
  table.sort(kept)
  call('SET', KEYS[1], whole(charged_at) .. '|' .. attempt .. '|' .. table.concat(kept, ' '), 'KEEPTTL')
end
return { 'settled' }
