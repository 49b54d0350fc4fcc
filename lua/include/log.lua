-- The decision log: one stream entry for each grant, loss, return and change, its field `e` words apart by a space. `npm run audit` reads it back.
local log_length = '20000'

local function write_log(key, words)
  call('XADD', key, 'MAXLEN', '~', log_length, '*', 'e', table.concat(words, ' '))
end
