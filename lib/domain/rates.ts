import type { EpochMs } from './time.ts';

/** Whom a rule counts apart. `global`: everybody together; two of them: each pair. */
export const rateParts = ['tenant', 'ip', 'api', 'source'] as const;
export type RatePart = (typeof rateParts)[number];

export const rateAlgorithms = ['fixed-window', 'token-bucket', 'gcra'] as const;

/**
 * How much a rule lets through: `limit` per `periodMs`, and with `token-bucket` and `gcra` at most `burst` at once (default `limit`). A `token-bucket`
 * of limit 0 never refills: it is a quota of `burst` per window, which opens with its first use. `calendar`: the windows of `fixed-window` begin with
 * the minute, hour or day (UTC); otherwise at a moment of their own for each identity, so that not everybody comes back at once.
 */
export type RateNumbers = {
  readonly algorithm: (typeof rateAlgorithms)[number];
  readonly limit: number;
  readonly periodMs: number;
  readonly burst?: number;
  readonly calendar?: boolean;
};

/** What counts one for each request; other costs are amounts that an api estimates. */
export const requestsCost = 'requests';

/** A rule as configured. Without `numbers` it is off until an operator sets some. */
export type RateRule = {
  readonly name: string;
  /** Routes that share its budget: `tasks` (every task route), `reads`, `hooks`, or one api. */
  readonly on: readonly string[];
  readonly identity: readonly RatePart[];
  readonly cost: string;
  /** On routes that no capacity guards, while Redis does not answer. */
  readonly whenUnavailable: 'admit' | 'refuse';
  readonly numbers?: RateNumbers | undefined;
};
export type RateRules = Readonly<Record<string, RateRule>>;

/** Who asks, as far as the route knows it. */
export type Asker = Readonly<Partial<Record<RatePart, string>>>;

/** One rule of a request: its budget is that of `identity`, of which `amount` is asked. */
export type RateAsk = { readonly rule: string; readonly identity: string; readonly amount: number };

/** What an admitted task was charged, as its record keeps it. `cost` is the name of the amount, `at` the moment of the charge. */
export type Charge = RateAsk & { readonly cost: string; readonly at: EpochMs };

/** A rule in force at the moment of a decision, after it: `limit` per `windowMs`, `remaining` of it, all of it again in `resetMs`. */
export type RateUse = {
  readonly rule: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly remaining: number;
  readonly resetMs: number;
};

/** More than 31 bits are nobody's limit. */
export const mostAmount = 2_000_000_000;

/** The rules that guard a route, in the order of the configuration. */
export function rulesOn(rules: RateRules, ...routes: readonly string[]): RateRule[] {
  return Object.values(rules).filter(({ on }) => on.some((route) => routes.includes(route)));
}

/** What a request asks of each rule; a cost its api does not have is 0. Throws where a rule counts by what the route does not know: a bug. */
export function asksOf(rules: readonly RateRule[], asker: Asker, costs: Readonly<Record<string, number>>): RateAsk[] {
  return rules.map(({ name, identity, cost }) => {
    const amount = cost === requestsCost ? 1 : (costs[cost] ?? 0);
    return { rule: name, identity: identityText(name, identity, asker), amount: Math.min(mostAmount, amount) };
  });
}

/** One text for one identity: no two lists of values run together to the same. */
function identityText(rule: string, identity: readonly RatePart[], asker: Asker): string {
  const values = identity.map((part) => {
    const value = asker[part];
    if (value === undefined) throw new Error(`expected the ${part} of a request, by which rule ${rule} counts`);
    return value;
  });
  return JSON.stringify(values);
}
