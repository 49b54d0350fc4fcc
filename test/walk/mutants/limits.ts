import type { Mutant } from './mutant.ts';

/** Which limit is in force. */
export const limits: readonly Mutant[] = [
  {
    name: 'a limit of 0 is none',
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: 'tier.in_system = tonumber(overridden[2 * index - 1] or nil) or tier.configured_in_system',
    replace:
      'tier.in_system = tonumber(overridden[2 * index - 1] or nil) or tier.configured_in_system; if tier.in_system == 0 then tier.in_system = nil end',
  },
  {
    name: 'live limits are ignored',
    in: ['peek', 'admit', 'acquire', 'observe'],
    find: "if base[3] and base[3] ~= '0' then",
    replace: 'if false then',
  },
  {
    name: 'never is judged by live limits',
    in: ['admit'],
    find: 'local running = tier.configured_running',
    replace: 'local running = tier.running',
  },
  {
    name: 'older live limits come into force',
    in: ['setLimits'],
    find: 'if current >= version then',
    replace: 'if current > version then',
  },
  {
    name: 'an override that is gone stays in force',
    in: ['setLimits'],
    find: "call('HDEL', KEYS[1], field)",
    replace: '',
  },
];
