-- settle: what a task was charged becomes what it should have been. The amounts said are absolute, so said twice they count once. What is given back is
-- only what the rule has not forgotten: nothing of a window that is over or a bucket that was full since, and with gcra less what has come back since.
-- What is missing is owed, down to one burst.
--
-- KEYS[1]   limits (hash)     KEYS[2]  charges of the task (string: `<at>|<attempt>|<rule>=<amount> …`, as admit wrote them)
-- KEYS[3..] state of each rule (include/rates.lua)
--
-- ARGV  now          ms, '' = server TIME
--       attempt      that says so; what an earlier one says after it does not count
--       over         1: for the last time, the charges are forgotten
--       rules, asks  of the rules (include/rates.lua); an amount of -1 leaves what is charged
--
-- Replies  {'settled'}
--          {'gone'}       nothing is charged to this task any more, or never was
--          {'stale'}      a later attempt has settled it
-- @include arguments
-- @include rate-forms
-- @include rate-states
-- @include rates

local now = moment()
local attempt = integer('attempt', 0, 1e6)
local over = integer('over', 0, 1) == 1
read_rules(3)

local charges = call('GET', KEYS[2])
if not charges then
  return { 'gone' }
end
local charged_at, settled_by, words = string.match(charges, '^(%d+)|(%d+)|(.*)$')
charged_at = tonumber(charged_at)
if attempt < tonumber(settled_by) then
  return { 'stale' }
end
local amounts = {}
for name, amount in string.gmatch(words, '(%S+)=(%d+)') do
  amounts[name] = tonumber(amount)
end

local function settled(rate, by)
  -- Past 2^53 not exact, but then more than two bursts, which no level holds.
  local units = math.abs(by) * rate.one
  if by > 0 then
    return math.max(math.min(rate.left, -rate.cap), rate.left - units)
  end
  if rate.kind == 'gcra' then
    units = math.max(0, units - math.max(0, now - charged_at) * rate.per_ms)
  elseif charged_at < rate.opened then
    units = 0
  end
  return math.min(rate.cap, rate.left + units)
end

override_forms(KEYS[1])
local changed, kept = {}, {}
for index, form in ipairs(forms) do
  local name, amount = names[index], asks[2 * index - 1]
  local by = amount >= 0 and amounts[name] and amount - amounts[name] or 0
  if by ~= 0 then
    amounts[name] = amount
    if form ~= '' then
      local rate = read_rate(index, KEYS[2 + index], form, now, asks[2 * index])
      local left = settled(rate, by)
      -- What changes nothing writes nothing: a window that is over stays over.
      if left ~= rate.left then
        rate.left = left
        changed[#changed + 1] = rate
      end
    end
  end
end

for _, rate in ipairs(changed) do
  write_rate(rate, now)
end
if over then
  call('DEL', KEYS[2])
else
  for name, amount in pairs(amounts) do
    kept[#kept + 1] = name .. '=' .. amount
  end
  table.sort(kept)
  call('SET', KEYS[2], whole(charged_at) .. '|' .. attempt .. '|' .. table.concat(kept, ' '), 'KEEPTTL')
end
return { 'settled' }
