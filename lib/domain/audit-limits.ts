import { isClientTier } from './audit-leases.ts';
import type { TierName } from './log-entry.ts';
import { configuredLimits, type Limits, type TierKind } from './tiers.ts';

/** Overrides as the gate keeps them: `inSystem:<label>` or `running:<label>` → limit. */
export type LiveFields = Readonly<Record<string, number>>;

/** The limits in force at a moment of the log: those configured, and over them what the last `limits` record said. */
export class LimitsInForce {
  readonly #configured: Limits;
  /** Undefined: changed before the log begins, and not known how. */
  #live: LiveFields | undefined;

  constructor(configured: Limits, live: LiveFields | undefined) {
    this.#configured = configured;
    this.#live = live;
  }

  change(live: LiveFields): void {
    this.#live = live;
  }

  /** `unknown` where the log does not tell; else the limit, absent where there is none. */
  of(tier: TierName, which: 'inSystem' | 'running'): { kind: 'unknown' } | { kind: 'known'; limit?: number } {
    if (this.#live === undefined) return { kind: 'unknown' };
    const kind = tier.slice(0, tier.indexOf(':')) as TierKind;
    const label = isClientTier(tier) ? kind : tier;
    const limit =
      this.#live[`${which}:${label}`] ??
      configuredLimits(this.#configured, { tier: kind, name: tier.slice(kind.length + 1) })[which];
    return limit === undefined ? { kind: 'known' } : { kind: 'known', limit };
  }
}
