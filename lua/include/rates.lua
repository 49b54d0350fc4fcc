-- Rate rules of one request; needs rate-forms and rate-states. KEYS holds, from `first_key` to the end, the state of each (string). ARGV holds
--   rules   words apart by a space, one for each: `<name>=<form>`; without a form it is off until one is set live (field `rate:<name>` of the
--           limits hash)
--   asks    packed, two for each: the amount, -1 = none; and the hash of whose budget it is, from which hashed windows begin
local names, forms, asks
local most_amount = 2000000000

-- Says how many there are. A form is checked when it is read, which is before anything is written.
local function read_rules(first_key)
  local count = #KEYS - first_key + 1
  names, forms = {}, {}
  for name, form in string.gmatch(text('rules', 4096), '(%S+)=(%S*)') do
    names[#names + 1], forms[#forms + 1] = name, form
  end
  if #names ~= count then
    refuse_argument('rules', count .. ' words')
  end
  asks = { packed_integers('asks', 2 * count) }
  for index = 1, count do
    check_range('amount', asks[2 * index - 1], -1, most_amount)
    check_range('hash', asks[2 * index], 0, 2147483647)
  end
end

-- A live form stands over the one that is configured.
local function override_forms(limits_key)
  local fields = {}
  for index, name in ipairs(names) do
    fields[index] = 'rate:' .. name
  end
  for index, live in ipairs(call('HMGET', limits_key, unpack(fields))) do
    forms[index] = live or forms[index]
  end
end

-- Every rule in force, and what stands in the way of the request: `short`, the one with the longest wait, or `never`, of which less than the amount
-- is ever left at once (a rule of limit 0 is closed, which may change).
local function judge_rates(first_key, now)
  local rates, short, wait, never = {}, nil, 0, nil
  for index, form in ipairs(forms) do
    if form ~= '' then
      local rate = read_rate(index, KEYS[first_key + index - 1], form, now, asks[2 * index])
      local amount = math.max(0, asks[2 * index - 1])
      rates[#rates + 1] = rate
      rate.name, rate.amount = names[index], amount
      if amount > rate.limit and rate.limit > 0 then
        never = never or rate
      elseif amount > 0 then
        local waits = wait_for(rate, amount * rate.one, now)
        if waits > wait then
          short, wait = rate, waits
        end
      end
    end
  end
  return rates, short, wait, never
end

-- Takes the amounts asked; says as words what was charged.
local function charge_rates(rates, now)
  local charged = {}
  for _, rate in ipairs(rates) do
    if rate.amount > 0 then
      rate.left = rate.left - rate.amount * rate.one
      write_rate(rate, now)
      charged[#charged + 1] = rate.name .. '=' .. rate.amount
    end
  end
  return charged
end

-- Five integers of each rule in force: index, limit, the ms in which as much comes, whole amounts left, ms until everything is there again.
local function append_rates(reply, rates, now)
  for _, rate in ipairs(rates) do
    local count = #reply
    reply[count + 1] = rate.index
    reply[count + 2] = rate.limit
    reply[count + 3] = rate.period
    reply[count + 4] = math.max(0, math.floor(rate.left / rate.one))
    reply[count + 5] = rate.ends and rate.ends - now or wait_for(rate, rate.cap, now)
  end
  return reply
end
