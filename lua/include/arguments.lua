-- Reads arguments in order and checks each before anything is written: Lua does not roll back.
local call = redis.call
local at = 0

local function refuse_argument(name, expected)
  error({ err = 'BADARG ' .. name .. ': expected ' .. expected })
end

local function text(name, longest)
  at = at + 1
  local value = ARGV[at]
  if value == nil or #value > longest then
    refuse_argument(name, 'at most ' .. longest .. ' bytes')
  end
  return value
end

local function integer(name, low, high)
  at = at + 1
  local value = tonumber(ARGV[at])
  if value == nil or value % 1 ~= 0 or value < low or value > high then
    refuse_argument(name, 'a whole number from ' .. low .. ' to ' .. high)
  end
  return value
end

-- What struct.unpack takes apart. A script pays for each argument before it begins, so numbers come together.
local function packed(name, bytes)
  at = at + 1
  local value = ARGV[at]
  if value == nil or #value ~= bytes then
    refuse_argument(name, bytes .. ' bytes')
  end
  return value
end

-- Whole numbers, signed, 32 bits each. One value more comes after them, as struct.unpack also says where it stopped.
local function packed_integers(name, count)
  return struct.unpack('>' .. string.rep('i4', count), packed(name, 4 * count))
end

local function check_range(name, value, low, high)
  if value < low or value > high then
    refuse_argument(name, 'a whole number from ' .. low .. ' to ' .. high)
  end
end

-- '' stands for "none" and becomes nil.
local function optional_integer(name, low, high)
  if ARGV[at + 1] == '' then
    at = at + 1
    return nil
  end
  return integer(name, low, high)
end

local function whole(number)
  return string.format('%d', number)
end
