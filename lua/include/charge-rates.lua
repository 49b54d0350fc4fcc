-- A block of include/rates.lua, after judge-rates. Takes the amounts asked, which are left, and what is left after them into `rates`.
for index = 1, asked do
  local amount, left, resets = amounts[index], rates[2 * index - 1], rates[2 * index]
  if amount > 0 and resets >= 0 then
    local key, flow = KEYS[first_key + index], flows[index]
    left = left - amount
    if flow then
      flow.left = flow.left - amount * flow.one
      write_flow(key, flow, now)
      rates[2 * index] = wait_for(flow, flow.cap)
    else
      local count = limits_now[index] - left
-- @include write-window
    end
    rates[2 * index - 1] = left
  end
end
