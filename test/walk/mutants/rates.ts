import type { Mutant } from './mutant.ts';

/** What rate rules let through and charge. */
export const rates: readonly Mutant[] = [
  {
    name: 'a budget is short only below what is asked',
    in: ['admit', 'rate'],
    find: 'if rate.left >= units then',
    replace: 'if rate.left >= units - rate.one then',
  },
  {
    name: 'a budget that just suffices is short',
    in: ['admit', 'rate'],
    find: 'if rate.left >= units then',
    replace: 'if rate.left > units then',
  },
  {
    name: 'a window is over a millisecond late',
    in: ['admit', 'rate'],
    find: 'if ends <= now then',
    replace: 'if ends < now then',
  },
  {
    name: 'a window is never over',
    in: ['admit', 'rate'],
    find: 'if ends <= now then',
    replace: 'if ends == 0 then',
  },
  {
    name: 'a bucket is full a millisecond late',
    in: ['admit', 'rate'],
    find: 'if ms >= math.ceil((cap - left) / per_ms) then',
    replace: 'if ms > math.ceil((cap - left) / per_ms) then',
  },
  {
    name: 'a bucket holds more than its burst',
    in: ['admit', 'rate'],
    find: 'if ms >= math.ceil((cap - left) / per_ms) then',
    replace: 'if false then',
  },
  {
    name: 'the wait is rounded down',
    in: ['admit', 'rate'],
    find: 'math.ceil((units - rate.left) / rate.per_ms)',
    replace: 'math.floor((units - rate.left) / rate.per_ms)',
  },
  {
    name: 'a refusal by a rule is charged',
    in: ['rate'],
    find: "return append_rates({ 'limited', short.index, wait, version }, rates, now)",
    replace: "charge_rates(rates, now) return append_rates({ 'limited', short.index, wait, version }, rates, now)",
  },
  {
    name: 'a refusal for capacity is charged',
    in: ['admit'],
    find: "return with_rates(append_uses({ 'rejected', now, index, version }, 4, limits, now))",
    replace:
      "if rated then rated.charge() end return with_rates(append_uses({ 'rejected', now, index, version }, 4, limits, now))",
  },
  {
    name: 'a post that is sent again is charged again',
    in: ['admit'],
    find: 'if held then\n',
    replace: 'if held then if rated then rated.charge() end\n',
  },
  {
    name: 'the first rule that is short is told, not the one with the longest wait',
    in: ['admit', 'rate'],
    find: 'if waits > wait then',
    replace: 'if waits > 0 and wait == 0 then',
  },
  {
    name: 'what can never fit is told to wait',
    in: ['admit', 'rate'],
    find: 'if amount > rate.limit and rate.limit > 0 then',
    replace: 'if false then',
  },
  {
    name: 'a rule that is closed lets through',
    in: ['admit', 'rate'],
    find: 'elseif amount > 0 then',
    replace: 'elseif amount > 0 and rate.limit > 0 then',
  },
  {
    name: 'all windows begin with the clock',
    in: ['admit', 'rate'],
    find: "local phase = rate.kind == 'hashed' and hash or rate.kind == 'quota' and now or 0",
    replace: "local phase = rate.kind == 'quota' and now or 0",
  },
  {
    name: 'a quota begins with the clock',
    in: ['admit', 'rate'],
    find: "local phase = rate.kind == 'hashed' and hash or rate.kind == 'quota' and now or 0",
    replace: "local phase = rate.kind == 'hashed' and hash or 0",
  },
  {
    name: 'an interval counts in milliseconds',
    in: ['admit', 'rate'],
    find: 'local used = tat and tonumber(tat) - now * 1000 or 0',
    replace: 'local used = tat and tonumber(tat) - now or 0',
  },
  {
    name: 'a token is one unit',
    in: ['admit', 'rate'],
    find: 'rate.one, rate.cap, rate.per_ms, rate.period = c, a * c,',
    replace: 'rate.one, rate.cap, rate.per_ms, rate.period = 1, a * c,',
  },
  {
    name: 'a clock that stepped back drains a bucket',
    in: ['admit', 'rate'],
    find: 'math.max(0, now - at_ms)',
    replace: 'now - at_ms',
  },
  {
    name: 'a clock that stepped back makes an interval long',
    in: ['admit', 'rate'],
    find: 'math.max(0, math.min(2 * rate.cap, used))',
    replace: 'math.max(0, used)',
  },
  {
    name: 'a clock that stepped back makes a window long',
    in: ['admit', 'rate'],
    find: 'if not ends or ends - now > rate.period then',
    replace: 'if not ends then',
  },
  {
    name: 'an idle interval saves up more than its burst',
    in: ['admit', 'rate'],
    find: 'math.max(0, math.min(2 * rate.cap, used))',
    replace: 'math.min(2 * rate.cap, used)',
  },
  {
    name: 'a state outlives what it knows',
    in: ['admit', 'rate', 'settle'],
    find: "call('SET', rate.key, state, 'PXAT', ends)",
    replace: "call('SET', rate.key, state)",
  },
  {
    name: 'live numbers of rules are ignored',
    in: ['admit', 'rate'],
    find: 'forms[index] = live or forms[index]',
    replace: '',
  },
  {
    name: 'after a live change a bucket counts its level in the new units',
    in: ['admit', 'rate'],
    find: 'if token_then ~= token then',
    replace: 'if false then',
  },
  {
    name: 'a bucket that was made smaller keeps its level',
    in: ['admit', 'rate'],
    find: 'math.max(-rate.cap, math.min(rate.cap, left))',
    replace: 'math.max(-rate.cap, left)',
  },
  {
    name: 'a bucket that was made larger fills only by and by',
    in: ['admit', 'rate'],
    find: 'left = left + math.max(0, burst - burst_then) * token',
    replace: '',
  },
  {
    name: 'a bucket is settled at the new rate',
    in: ['admit', 'rate'],
    find: 'refilled(level, full, tonumber(refill_then)',
    replace: 'refilled(level, full, refill',
  },
  {
    name: 'the live numbers of a rule are not those that were sent',
    in: ['setLimits'],
    find: "if string.find(field, '^rate:') then\noverrides[field] = text(field, 80)",
    replace: "  if string.find(field, '^rate:') then\n    overrides[field] = 'hashed,1,1,0' at = at + 1",
  },
];
