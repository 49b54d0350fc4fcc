-- What is kept of a rate rule for one identity, by its form (include/rate-forms.lua): a letter and whole numbers as doubles, packed, because text took
-- longer to read and to write than the commands that carry it. A state of another form counts as none, and one of which nothing is left to know is gone.
--   w count opened ends                            `opened`: of what was charged before nothing is known any more
--   b level at opened burst refill token           level in units, below 0 where more is owed
--   g tat                                          µs: when everything is there again; virtual scheduling of ITU-T I.371 (GCRA)

local function write_window(key, count, opened, ends, counts_on)
  if count <= 0 then
    call('DEL', key)
  elseif counts_on then
    -- Only the count is new, and the key expires when it did: half of what a SET takes.
    call('SETRANGE', key, '1', struct.pack('<d', count))
  else
    call('SET', key, struct.pack('<c1ddd', 'w', count, opened, ends), 'PXAT', whole(ends))
  end
end

-- A script makes its functions anew in each call, which costs as much as a command for some of them: those of buckets only where there is one.
local read_flow, wait_for, write_flow
local function make_flows()
  read_flow, wait_for, write_flow = (function()
-- @include rate-flows
    return read_flow, wait_for, write_flow
  end)()
end
