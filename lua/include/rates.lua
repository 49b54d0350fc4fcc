-- Rate rules of one request; needs rate-states. KEYS holds, from `first_key` to the end, the state of each (string), named `…:<rule>:<identity>`. ARGV holds
--   rules   packed, for each: its form as configured (the letter of its kind, `-` = off until one is set live: field `rate:<rule>` of the limits hash),
--           the amount that is asked, -1 = none, and the hash of whose budget it is, from which hashed windows begin
local rule_bytes, rule_numbers = 25, '<c1I4I8I4i4I4'
local most_amount = 2000000000

local function rule_of(key)
  return (string.match(key, '([^:]+):[^:]*$'))
end

-- Forms that stand over those that are configured, by the index of their rule.
local function live_forms(limits_key, first_key)
-- @include rate-forms
  local fields, forms = {}, {}
  for at_key = first_key, #KEYS do
    fields[#fields + 1] = 'rate:' .. rule_of(KEYS[at_key])
  end
  for index, form in ipairs(call('HMGET', limits_key, unpack(fields))) do
    forms[index] = form and { read_form(form) }
  end
  return forms
end

-- Rates are a flat list of two integers for each rule: what is left, which may be below 0, and the ms until everything is there again, -1 = not in force.
-- By the index of the rule stand beside them, as a table for each rule would cost more than its commands: the amount asked, the limit in force; of a
-- window since when it is known and whether its state can be counted on; of the others what read_flow says.
local asked, amounts, limits_now = 0, { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }
local opened_at, counts_on, flows = { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, {}

-- Writes every rule into `rates`, as it is before the request. Says what stands in its way: the index of the rule with the longest wait and that wait,
-- or index and limit of one of which less than the amount is ever left at once (a limit of 0 is closed, which may change). Configured forms were
-- checked with the configuration.
local function judge_rates(rates, first_key, now, rules, live)
  local short, wait, never, most = nil, 0, nil, nil
  local states = KEYS[first_key] and call('MGET', unpack(KEYS, first_key)) or {}
  local from, last = 1, 0
  -- Locals are quicker than what several functions share.
  local amounts, limits_now, opened_at, counts_on = amounts, limits_now, opened_at, counts_on
  for index = 1, #states do
    local left, resets, kind, a, b, c, amount, hash = 0, -1
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
      local waits
      if kind == 'b' or kind == 'g' then
        if not read_flow then
          make_flows()
        end
        local flow = read_flow(state, now, kind, a, b, c)
        flows[index] = flow
        left, resets, waits = math.floor(flow.left / flow.one), wait_for(flow, flow.cap), wait_for(flow, amount * flow.one)
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
        opened_at[index], counts_on[index] = opened, stays
        left, resets = a - count, ends - now
        waits = left >= amount and 0 or resets
      end
      if amount > a and a > 0 then
        if not never then
          never, most = index, a
        end
      elseif amount > 0 and waits > wait then
        short, wait = index, waits
      end
    end
    amounts[index], limits_now[index] = amount, a
    rates[last + 1], rates[last + 2] = left, resets
    last = last + 2
  end
  asked = #states
  return short, wait, never, most
end

-- Takes the amounts asked, which are left, and what is left after them into `rates`.
local function charge_rates(rates, first_key, now)
  for index = 1, asked do
    local amount, left, resets = amounts[index], rates[2 * index - 1], rates[2 * index]
    if amount > 0 and resets >= 0 then
      local key, flow = KEYS[first_key + index - 1], flows[index]
      left = left - amount
      if flow then
        flow.left = flow.left - amount * flow.one
        write_flow(key, flow, now)
        rates[2 * index] = wait_for(flow, flow.cap)
      else
        write_window(key, limits_now[index] - left, opened_at[index], now + resets, counts_on[index])
      end
      rates[2 * index - 1] = left
    end
  end
end

-- Makes `rates` what ends a reply and says how long it is: none is owed there, and after the rules come three integers for each whose numbers are set
-- live: index, limit, the ms in which as much comes.
local function end_rates(rates, live)
  local last = 2 * asked
  for at_left = 1, last, 2 do
    if rates[at_left] < 0 then
      rates[at_left] = 0
    end
  end
  for index = 1, live and asked or 0 do
    local form, flow = live[index], flows[index]
    if form then
      rates[last + 1], rates[last + 2] = index, limits_now[index]
      rates[last + 3] = flow and math.ceil(flow.cap / flow.per_ms) or form[3]
      last = last + 3
    end
  end
  return last
end
