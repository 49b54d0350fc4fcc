-- A block of include/rates.lua, after judge-rates. Takes `key`, `index`, `count`, `resets` and `now`.
if count <= 0 then
  call('DEL', key)
elseif counts_on[index] then
  -- Only the count is new, and the key expires when it did: half of what a SET takes.
  call('SETRANGE', key, '1', struct.pack('<d', count))
else
  local ends = now + resets
  call('SET', key, struct.pack('<c1ddd', 'w', count, opened_at[index], ends), 'PXAT', string.format('%d', ends))
end
