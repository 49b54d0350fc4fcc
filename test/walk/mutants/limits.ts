import type { Mutant } from './mutant.ts';

/** Which limit is in force. */
export const limits: readonly Mutant[] = [
  {
    name: 'a limit of 0 is none',
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: 'configured[count + 1] = nil',
    replace: 'configured[count + 1] = nil; for i = 1, count do if configured[i] == 0 then configured[i] = -1 end end',
  },
  {
    name: 'live limits are ignored',
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: "local overridden = base[3] and base[3] ~= '0'",
    replace: 'local overridden = false',
  },
  {
    name: 'never is judged by live limits',
    in: ['admit'],
    find: 'local running = configured[2 * index]',
    replace: 'local running = limits[2 * index]',
  },
  {
    name: 'older live limits come into force',
    in: ['setLimits'],
    find: 'if current > version then',
    replace: 'if current > version + 1 then',
  },
  {
    name: 'an override that is gone stays in force',
    in: ['setLimits'],
    find: "call('HDEL', KEYS[1], field)",
    replace: '',
  },
];
