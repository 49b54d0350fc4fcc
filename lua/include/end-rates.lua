-- A block of include/rates.lua, after judge-rates. Makes `rates` what ends a reply and leaves how long it is in `last`: nothing is owed there, and after
-- the rules come three integers for each whose numbers are set live: index, limit, the ms in which as much comes.
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
