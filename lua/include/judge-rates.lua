-- A block of include/rates.lua. Takes `first_key`, `now` and `rules`; leaves how many are `asked`, in `live` by their index the forms of those that are set
-- live (nil = of none), `rates` as they are before the request, and what stands in its way: the index of the rule with the longest wait in `short` and its `wait`, or in `never` and `most` index and limit of one of which
-- less than the amount is ever left at once (a limit of 0 is closed, which may change). Configured forms were checked with the configuration.
--
-- Rates are a flat list of two integers for each rule: what is left, which may be below 0, and the ms until everything is there again, -1 = not in force.
-- By the index of the rule stand beside them, as a table for each rule would cost more than its commands: the amount asked, the limit in force; of a
-- window since when it is known and whether its state can be counted on; of the others what read_flow says. All are as long from the start as with five
-- rules: to grow a table costs more than a command.
local rates, amounts, limits_now = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }
local opened_at, counts_on, flows = { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }, {}
local read_flow, wait_for, write_flow
local short, wait, never, most = nil, 0, nil, nil
local states = call('MGET', unpack(KEYS, first_key))
local asked, live = #states - 1, nil
local from = asked + 1
if states[1] and string.find(states[1], '=', 1, true) then
-- @include rate-forms
  live = {}
  for rule, form in string.gmatch(states[1], '(%S+)=(%S+)') do
    for index = 1, asked do
      if string.match(KEYS[first_key + index], rule_in_key) == rule then
        live[index] = { read_form(form) }
      end
    end
  end
end
for index = 1, asked do
  local left, resets, kind = 0, -1, string.sub(rules, index, index)
  local a1, a2, a3, a4, a5, b1, b2, b3, b4, b5, b6, b7, b8, c1, c2, c3, c4, c5, d1, d2, d3, d4, d5 = string.byte(rules, from, from + 22)
  local a = a1 + 128 * (a2 + 128 * (a3 + 128 * (a4 + 128 * a5)))
  local b = b1 + 128 * (b2 + 128 * (b3 + 128 * (b4 + 128 * (b5 + 128 * (b6 + 128 * (b7 + 128 * b8))))))
  local c = kind == 'b' and c1 + 128 * (c2 + 128 * (c3 + 128 * (c4 + 128 * c5)))
  local amount = d1 + 128 * (d2 + 128 * (d3 + 128 * (d4 + 128 * d5))) - 1
  if amount > most_amount then
    refuse_argument('amount', 'at most ' .. most_amount)
  end
  if live and live[index] then
    kind, a, b, c = unpack(live[index])
  end
  if kind ~= '-' then
    -- MGET has nothing of a key of another type; GET throws.
    local state = states[index + 1] or call('GET', KEYS[first_key + index]) or ''
    local waits
    if kind == 'b' or kind == 'g' then
      if not read_flow then
        read_flow, wait_for, write_flow = (function()
-- @include rate-flows
          return read_flow, wait_for, write_flow
        end)()
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
        local phase = kind == 'q' and now or 0
        if kind == 'h' then
          local h1, h2, h3, h4, h5 = string.byte(rules, from + 23, from + 27)
          phase = h1 + 128 * (h2 + 128 * (h3 + 128 * (h4 + 128 * h5)))
        end
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
  rates[2 * index - 1], rates[2 * index] = left, resets
  from = from + 28
end
