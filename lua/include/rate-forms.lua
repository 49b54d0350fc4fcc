-- A form says how a rate rule counts, `<kind>,<a>,<b>,<c>` (lib/domain/rate-form.ts makes it). Scripts tell kinds by their first letter.
--   hashed,limit,window_ms,0     windows that begin at a moment of their own for each hash
--   calendar,limit,window_ms,0   … with the minute, hour or day
--   quota,limit,window_ms,0      … with the first charge after the last one
--   bucket,burst,refill,token    token bucket: a token is `token` units, `refill` units come each ms
--   gcra,burst,interval_us,0     one each interval

-- Throws on a form that whole numbers of a double cannot count by.
local function read_form(form)
  local most_of = {
    hashed = { 2678400000, 0 },
    calendar = { 2678400000, 0 },
    quota = { 2678400000, 0 },
    bucket = { 2678400000, 2678400000 },
    gcra = { 1e15, 0 },
  }
  local kind, a, b, c = string.match(form, '^(%l+),(%d+),(%d+),(%d+)$')
  local most = most_of[kind or '']
  a, b, c = tonumber(a), tonumber(b), tonumber(c)
  if not most or a > 1e9 or b < 1 or b > most[1] or c > most[2] or a * c >= 2 ^ 52 or (kind == 'gcra' and a * b > 1e15) then
    refuse_argument('form', '<kind>,<a>,<b>,<c>')
  end
  return string.sub(kind, 1, 1), a, b, c
end
