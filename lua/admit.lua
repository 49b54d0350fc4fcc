-- admit: one new task takes its dedup lock, a seat in every tier and what its rate rules charge, or nothing anywhere. Sent twice, it charges once.
--
-- KEYS[1]   limits (hash)     KEYS[2]  lock of the dedup key (string)     KEYS[3]  decision log (stream)
-- KEYS[4..11] seats, slots of each of the four tiers
-- Only where it has rate rules:
-- KEYS[12]  charges of the task (string, lua/settle.lua)     KEYS[13..]  numbers of rules set live, state of each rule (include/rates.lua)
--
-- ARGV  now             ms, '' = server TIME (tests name one)
--       id              of the new task
--       member          `<tenant>|<id>`
--       fingerprint
--       replaces        id of the terminal task this one takes the place of, '' = none
--       replaced        member of that task, '' = none
--       names           of the tiers, for the log
--       terms           packed (include/arguments.lua):
--         lock_ms         life of the creation lock
--         start_window_ms life of a seat before its task has started
--         permits         slots the task will take in every tier
--         most_ahead      refuse behind more waiting tasks of the pool than this, 2^31 - 1 = any number
--         shared          how many tiers are everybody's; the others are one client's each, and their sets expire with their last lease
--       not_after       ms: past it nothing is done, because the caller has given up; '' = any time
--       labels, limits  of the tiers (include/tiers.lua)
--       rules           of the rate rules (include/rates.lua)
--
-- Replies  {'admitted', now, deadline, epoch, version, uses…, rates…}     deadline: the moment the seat lapses
--          {'duplicate', state, id, fingerprint}                  state: creating | created
--          {'stale'}                                              past not_after: a call that a server kept and ran late
--          {'rebuilding'}                                         no epoch: nothing is decided
--          {'paused'}                                             the pool takes no new tasks
--          {'never', tier index, running limit}                   more permits than configured
--          {'limited', index, wait_ms, version, rates…}           the rule with the longest wait; nothing was taken
--          {'too_costly', index, limit}                           more than that rule ever lets through at once
--          {'rejected', now, tier index, version, uses…, rates…}  first tier that is full; nothing was taken
--          {'behind', now, ahead, version, uses…, rates…}         everything fits, but more than most_ahead wait; nothing was taken
-- Uses count leases that have lapsed but were not swept yet, as the check itself does: exact where a tier is full, else at most too high.
-- @include arguments
-- @include tiers
-- @include log
-- @include grant
-- @include lock

local any_number = 2147483647
-- A task starts within a day of its admission and is over within another, or its charges stand.
local charges_ms = 2 * 86400000

-- @include now
local id = text('id', 64)
local member = text('member', 256)
local fingerprint = text('fingerprint', 128)
local replaces = text('replaces', 64)
local replaced = text('replaced', 256)
local names = text('names', 512)
local lock_ms, start_window_ms, permits, most_ahead, shared = packed_integers('terms', 5)
check_range('lock_ms', lock_ms, 1, 600000)
check_range('start_window_ms', start_window_ms, 1, 86400000)
check_range('permits', permits, 1, 1000)
check_range('most_ahead', most_ahead, -1, any_number)
check_range('shared', shared, 0, 4)
local not_after = optional_integer('not_after', 1e12, 7e12)
local tiers = read_tiers(4, 11)
if tiers ~= 4 then
  refuse_argument('limits', 'those of four tiers')
end
local ruled = #KEYS > 11
if ruled and not ARGV[at + 1] then
  refuse_argument('rules', 'one for each rule')
end

if not_after and now > not_after then
  return { 'stale' }
end

local lock = read_lock(KEYS[2])
if lock and lock.id ~= id and lock.id ~= replaces then
  return { 'duplicate', lock.state, lock.id, lock.fingerprint }
end

local epoch, version, limits, pauses, overridden = read_limits(KEYS[1])
if not epoch then
  return { 'rebuilding' }
end

-- A script makes its functions anew at each call: those of rate rules only where one may be in force.
local rated
if ruled and (overridden or string.find(string.sub(ARGV[at + 1], 1, #KEYS - 13), '%a')) then
  rated = (function()
-- @include rates

    local first_key = 13
-- @include read-rules
-- @include judge-rates
    return {
      short = short,
      wait = wait,
      never = never,
      most = most,
      -- Says as words what was charged.
      charge = function()
-- @include charge-rates
        local charged = {}
        for index = 1, asked do
          if amounts[index] > 0 and rates[2 * index] >= 0 then
            charged[#charged + 1] = string.match(KEYS[13 + index], rule_in_key) .. '=' .. amounts[index]
          end
        end
        return charged
      end,
      append = function(answer)
-- @include end-rates
        local count = #answer
        for place = 1, last do
          answer[count + place] = rates[place]
        end
        return answer
      end,
    }
  end)()
end
local function with_rates(answer)
  return rated and rated.append(answer) or answer
end

local held = lock and lock.id == id and call('ZSCORE', KEYS[4], member)
if held then
  return with_rates(append_uses({ 'admitted', now, tonumber(held), epoch, version }, 4, limits, now))
end

if pauses[1] == pause_refuses then
  return { 'paused' }
end

for index = 1, tiers do
  local running = configured[2 * index]
  if permits > running and running > 0 then
    return { 'never', index, running }
  end
end

if rated and rated.never then
  return { 'too_costly', rated.never, rated.most }
end
if rated and rated.short then
  return with_rates({ 'limited', rated.short, rated.wait, version })
end

local giving_back = lock ~= nil and lock.id == replaces and replaced ~= ''
local function free_for_replaced(seats)
  local score = giving_back and call('ZSCORE', seats, replaced)
  return score and tonumber(score) > now and 1 or 0
end

-- Each task that runs has exactly one slot #1; a pool has at most 1,000 (maxRunning).
local function running_tasks(slots)
  local tasks = 0
  for _, slot in ipairs(call('ZRANGEBYSCORE', slots, '(' .. whole(now), '+inf', 'LIMIT', 0, 1000)) do
    if string.sub(slot, -2) == '#1' then
      tasks = tasks + 1
    end
  end
  return tasks
end

-- As long from the start as with four tiers: to grow a table costs more than a command.
local reply = { 'admitted', now, now + start_window_ms, epoch, version, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
for index = 1, tiers do
  local seats, limit = KEYS[2 + 2 * index], limits[2 * index - 1]
  local count = call('ZCARD', seats)
  if limit >= 0 and count >= limit then
    count = sweep(KEYS[3], seats, now, count)
    if count - free_for_replaced(seats) >= limit then
      return with_rates(append_uses({ 'rejected', now, index, version }, 4, limits, now))
    end
  end
  reply[2 + 4 * index] = count + 1
end
if most_ahead < any_number then
  local ahead = alive(KEYS[4], now) - running_tasks(KEYS[5]) - free_for_replaced(KEYS[4])
  if ahead > most_ahead then
    return with_rates(append_uses({ 'behind', now, ahead, version }, 4, limits, now))
  end
end

local now_text, deadline_text = whole(now), whole(now + start_window_ms)
local entry = { 'admit', now_text, member, deadline_text, names }
write_lock(KEYS[2], 'creating', id, fingerprint, lock_ms)
for index = 1, tiers do
  local seats, slots = KEYS[2 + 2 * index], KEYS[3 + 2 * index]
  local in_system, running = limits[2 * index - 1], limits[2 * index]
  local use = 4 * index
  if giving_back and call('ZREM', seats, replaced) == 1 then
    -- Its seat may have lapsed and be uncounted already.
    reply[use + 2] = math.max(1, reply[use + 2] - 1)
  end
  call('ZADD', seats, deadline_text, member)
  if index > shared then
    -- A set that was empty has no expiry yet, any other only moves its own on.
    if reply[use + 2] == 1 then
      call('PEXPIREAT', seats, deadline_text)
    else
      call('PEXPIREAT', seats, deadline_text, 'GT')
    end
  end
  reply[use + 3] = in_system
  reply[use + 4] = call('ZCARD', slots)
  reply[use + 5] = running
  entry[5 + index] = in_system < 0 and '-' or in_system
end
if giving_back then
  write_log(KEYS[3], { 'replace', now_text, replaced })
end
write_log(KEYS[3], entry)
local charged = rated and rated.charge()
if charged and #charged > 0 then
  call('SET', KEYS[12], now_text .. '|0|' .. table.concat(charged, ' '), 'PX', charges_ms)
end
return with_rates(reply)
