-- Rate rules of one request; needs rate-states. KEYS holds, from `first_key` to the end, the state of each (string). ARGV holds
--   rules   packed, for each: its form as configured (the letter of its kind, `-` = off until one is set live: field `rate:<name>` of the limits hash),
--           the amount that is asked, -1 = none, and the hash of whose budget it is, from which hashed windows begin
--   names   of the rules, words apart by a space
local rule_bytes, rule_numbers = 25, '<c1I4I8I4i4I4'
local most_amount = 2000000000

local function read_rules(first_key)
  return packed('rules', rule_bytes * (#KEYS - first_key + 1)), text('names', 4096)
end

local function read_names(names, first_key)
  local each = {}
  for name in string.gmatch(names, '%S+') do
    each[#each + 1] = name
  end
  if #each ~= #KEYS - first_key + 1 then
    refuse_argument('names', 'one for each rule')
  end
  return each
end

-- Forms that stand over those that are configured, by the index of their rule.
local function live_forms(limits_key, names)
-- @include rate-forms
  local fields, forms = {}, {}
  for index, name in ipairs(names) do
    fields[index] = 'rate:' .. name
  end
  for index, form in ipairs(call('HMGET', limits_key, unpack(fields))) do
    forms[index] = form and { read_form(form) }
  end
  return forms
end

-- Rates are a flat list, as they end a reply, of five integers for each rule in force: index, limit, the ms in which as much comes, amounts left, ms
-- until everything is there again. By their order stand beside them, as a table for each rule would cost more than its commands: the amount asked;
-- of a window since when it is known and whether its state can be counted on; of the others what read_flow says.
local in_force = 0
local amounts, opened_at, counts_on, flows = { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, {}

-- Writes every rule in force into `rates`, from `last` on, as it is before the request. Says what stands in its way: the index of the rule with the longest
-- wait and that wait, or index and limit of one of which less than the amount is ever left at once (a limit of 0 is closed, which may change).
-- Amounts left may be below 0. Configured forms were checked with the configuration.
local function judge_rates(rates, last, first_key, now, rules, live)
  local short, wait, never, most = nil, 0, nil, nil
  local states = KEYS[first_key] and call('MGET', unpack(KEYS, first_key)) or {}
  -- Locals are quicker than what several functions share.
  local from, nth, amounts, opened_at, counts_on = 1, 0, amounts, opened_at, counts_on
  for index = 1, #states do
    local kind, a, b, c, amount, hash
    kind, a, b, c, amount, hash, from = struct.unpack(rule_numbers, rules, from)
    if amount > most_amount then
      refuse_argument('amount', 'at most ' .. most_amount)
    end
    if live and live[index] then
      kind, a, b, c = unpack(live[index])
    end
    if kind ~= '-' then
      -- MGET has nothing of a key of another type; GET throws.
      local state = states[index] or call('GET', KEYS[first_key + index - 1]) or ''
      local period, left, resets, waits = b, 0, 0, 0
      nth = nth + 1
      if kind == 'b' or kind == 'g' then
        if not read_flow then
          make_flows()
        end
        local flow = read_flow(state, now, kind, a, b, c)
        flows[nth] = flow
        period, left, resets = math.ceil(flow.cap / flow.per_ms), math.floor(flow.left / flow.one), wait_for(flow, flow.cap)
        waits = wait_for(flow, amount * flow.one)
      else
        local mark, count, opened, ends
        if #state == 25 then
          mark, count, opened, ends = struct.unpack('<c1ddd', state)
        end
        local runs = mark == 'w' and ends > now
        if not runs then
          count, opened = 0, now
        end
        -- Further away only where the clock stepped back or the window was made shorter.
        local stays = runs and ends - now <= b
        if not stays then
          local phase = kind == 'h' and hash or kind == 'q' and now or 0
          ends = now + b - (now - phase) % b
        end
        if opened > now then
          opened, stays = now, false
        end
        opened_at[nth], counts_on[nth] = opened, stays
        left, resets = a - count, ends - now
        waits = left >= amount and 0 or resets
      end
      amounts[nth] = amount
      rates[last + 1] = index
      rates[last + 2] = a
      rates[last + 3] = period
      rates[last + 4] = left
      rates[last + 5] = resets
      last = last + 5
      if amount > a and a > 0 then
        if not never then
          never, most = index, a
        end
      elseif amount > 0 and waits > wait then
        short, wait = index, waits
      end
    end
  end
  rates[last + 1] = nil
  in_force = nth
  return short, wait, never, most
end

-- Takes the amounts asked, which are left, and what is left after them into `rates`.
local function charge_rates(rates, last, first_key, now)
  for nth = 1, in_force do
    local amount, left, flow = amounts[nth], rates[last + 4], flows[nth]
    if amount > 0 then
      local key = KEYS[first_key + rates[last + 1] - 1]
      left = left - amount
      if flow then
        flow.left = flow.left - amount * flow.one
        write_flow(key, flow, now)
        rates[last + 5] = wait_for(flow, flow.cap)
      else
        write_window(key, rates[last + 2] - left, opened_at[nth], now + rates[last + 5], counts_on[nth])
      end
    end
    rates[last + 4] = left < 0 and 0 or left
    last = last + 5
  end
end

local function append_rates(reply, rates, last)
  local count = #reply
  for place = 1, 5 * in_force do
    reply[count + place] = math.max(0, rates[last + place])
  end
  return reply
end
