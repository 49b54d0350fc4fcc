-- Rate rules of one request. KEYS holds, from `first_key` to the end, the numbers that are set live (string: version of the limits, then `<rule>=<form>`,
-- words apart by a space) and the state of each rule (string), named `…:<rule>:<identity>`. ARGV holds
--   rules   the letter of each one's kind as configured, `-` = off until one is set live; then for each its numbers a, b, c, the amount that is asked plus 1,
--           0 = none, and the hash of whose budget it is, from which hashed windows begin: in 5, 8, 5, 5, 5 bytes of seven bits, lowest first, because a
--           client is quicker to send text
-- A state is, by the form of its rule (include/rate-forms.lua), a letter and whole numbers as doubles, packed, because text took longer to read and to
-- write than the commands that carry it. A state of another form counts as none, and one of which nothing is left to know is gone.
--   w count opened ends                            `opened`: of what was charged before nothing is known any more
--   b level at opened burst refill token           level in units, below 0 where more is owed
--   g tat                                          µs: when everything is there again; virtual scheduling of ITU-T I.371 (GCRA)
-- What is done with them are blocks, not functions (read-rules, judge-rates, charge-rates, end-rates): a script makes its functions anew in each call,
-- which costs as much as a command for a few of them. Each says which locals it takes and which it leaves.
local rule_bytes = 29
local rule_in_key = '([^:]+):[^:]*$'
local most_amount = 2000000000
