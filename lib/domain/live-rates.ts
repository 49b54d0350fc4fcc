import { rateFaults } from './rate-form.ts';
import type { RateNumbers, RateRules } from './rates.ts';

/** Rules as an operator changed them live: one that names its algorithm has these numbers alone, any other these over the configured ones. */
export type RateOverrides = Readonly<Record<string, Partial<RateNumbers>>>;

type Fault = { readonly path: string; readonly message: string };

/** The numbers of every rule that is on. */
export function ratesInForce(rules: RateRules, overrides: RateOverrides = {}): Record<string, RateNumbers> {
  const each = Object.values(rules).flatMap(({ name, numbers }) => {
    const over = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
    const inForce = over === undefined ? numbers : over.algorithm === undefined ? { ...numbers, ...over } : over;
    return inForce === undefined ? [] : [[name, inForce as RateNumbers] as const];
  });
  return Object.fromEntries(each);
}

/** Overrides of rules with nothing empty in them, or every fault by its path: unknown rules, numbers that make no rule. */
export function readRateOverrides(
  given: readonly (readonly [name: string, numbers: Readonly<Record<string, unknown>>])[],
  rules: RateRules,
): { readonly overrides: RateOverrides; readonly faults: readonly Fault[] } {
  const overrides = Object.fromEntries(given.filter(([, numbers]) => Object.keys(numbers).length > 0)) as RateOverrides;
  const inForce = ratesInForce(rules, overrides);
  const faults = Object.keys(overrides).flatMap((name) => {
    const path = `rates.${name}`;
    if (!Object.hasOwn(rules, name)) return [{ path, message: `expected one of ${Object.keys(rules).join(', ')}` }];
    return rateFaults({ ...inForce[name] }, path);
  });
  return { overrides, faults };
}
