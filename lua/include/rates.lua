-- Rate rules of one request. KEYS holds, from `first_key` to the end, the numbers that are set live (string: version of the limits, then `<rule>=<form>`,
-- words apart by a space) and the state of each rule (string), named `…:<rule>:<identity>`. ARGV holds
--   rules   packed, for each: its form as configured (the letter of its kind, `-` = off until one is set live),
--           the amount that is asked, -1 = none, and the hash of whose budget it is, from which hashed windows begin
-- A state is, by the form of its rule (include/rate-forms.lua), a letter and whole numbers as doubles, packed, because text took longer to read and to
-- write than the commands that carry it. A state of another form counts as none, and one of which nothing is left to know is gone.
--   w count opened ends                            `opened`: of what was charged before nothing is known any more
--   b level at opened burst refill token           level in units, below 0 where more is owed
--   g tat                                          µs: when everything is there again; virtual scheduling of ITU-T I.371 (GCRA)
-- What is done with them are blocks, not functions (read-rules, judge-rates, charge-rates, end-rates): a script makes its functions anew in each call,
-- which costs as much as a command for a few of them. Each says which locals it takes and which it leaves.
local rule_bytes, rule_numbers = 25, '<c1I4I8I4i4I4'
local rule_in_key = '([^:]+):[^:]*$'
local most_amount = 2000000000
