import type { Mutant } from './mutant.ts';

/** What of a charge goes back, and what is owed. */
export const charges: readonly Mutant[] = [
  {
    name: 'what is settled twice counts twice',
    in: ['settle'],
    find: 'if by ~= 0 then\namounts_charged[rule] = amount\nend',
    replace: '',
  },
  {
    name: 'a task gets its charges back twice',
    in: ['settle'],
    find: "call('DEL', KEYS[1])",
    replace: '',
  },
  {
    name: 'an earlier attempt has the last word',
    in: ['settle'],
    find: 'if attempt < tonumber(settled_by) then',
    replace: 'if false then',
  },
  {
    name: 'a window that is over is given back to the next',
    in: ['settle'],
    find: 'elseif charged_at < budget.opened then',
    replace: 'elseif false then',
  },
  {
    name: 'an interval is given back what came back already',
    in: ['settle'],
    find: 'units = math.max(0, units - math.max(0, now - charged_at) * budget.per_ms)',
    replace: '',
  },
  {
    name: 'more is given back than a budget holds',
    in: ['settle'],
    find: 'return math.min(budget.cap, budget.left + units)',
    replace: 'return budget.left + units',
  },
  {
    name: 'a debt has no end',
    in: ['settle'],
    find: 'return math.max(math.min(budget.left, -budget.cap), budget.left - units)',
    replace: 'return budget.left - units',
  },
];
