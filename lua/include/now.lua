-- A block, as a script makes its functions anew in each call. Leaves `now`, from the next argument: the server's moment, unless a test names one.
at = at + 1
local now = ARGV[at]
if now == '' then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(now)
  if now == nil or now % 1 ~= 0 or now < 1e12 or now > 7e12 then
    refuse_argument('now', 'a whole number from 1e12 to 7e12')
  end
end
