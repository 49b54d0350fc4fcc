import type { RateNumbers, RateRules } from '../../lib/domain/rates.ts';
import { second } from '../../lib/domain/time.ts';
import type { Random } from '../protocol/random.ts';

/** Rules of every walk: by address, by tenant, by both, and for everybody; each is on in some worlds and off in others. */
export const rules = ['by-ip', 'by-tenant', 'by-both', 'for-all'] as const;

export function rulesOf(numbersOf: () => RateNumbers | undefined): RateRules {
  const rule = (name: (typeof rules)[number], identity: RateRules[string]['identity']) => {
    const numbers = numbersOf();
    const cost = name === 'by-tenant' ? 'tokens' : 'requests';
    return { name, on: ['tasks'], identity, cost, whenUnavailable: 'admit' as const, numbers };
  };
  return {
    'by-ip': rule('by-ip', ['ip']),
    'by-tenant': rule('by-tenant', ['tenant']),
    'by-both': rule('by-both', ['tenant', 'ip']),
    'for-all': rule('for-all', []),
  };
}

/** Small ones of every algorithm, with units that do not divide: 3 in 7 s. */
export function rateNumbersOf(dice: Random): RateNumbers {
  const limit = dice.pick([1, 2, 3, 5]);
  const periodMs = dice.pick([second, 7 * second, 20 * second]);
  const burst = dice.pick([1, 2, 3, 4]);
  return dice.pick<RateNumbers>([
    { algorithm: 'fixed-window', limit: dice.pick([0, limit, limit]), periodMs },
    { algorithm: 'fixed-window', limit, periodMs: dice.pick([second, 20 * second]), calendar: true },
    { algorithm: 'token-bucket', limit: 0, burst, periodMs },
    { algorithm: 'token-bucket', limit, burst, periodMs },
    { algorithm: 'gcra', limit, burst, periodMs },
    { algorithm: 'gcra', limit, periodMs },
  ]);
}
