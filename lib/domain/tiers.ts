/** A limit a task must pass, widest first; docs/words.md. */
export const tierKinds = ['pool', 'api', 'tenant', 'ip'] as const;
export type TierKind = (typeof tierKinds)[number];

/** One tier a task is charged to. For `tenant` and `ip` the name is the client's; its limit is the same for every client. */
export type Tier = { readonly tier: TierKind; readonly name: string };

/** Limits of one tier. Absent means none, 0 means closed. `inSystem` counts tasks, `running` counts permits. */
export type TierLimits = { readonly running?: number | undefined; readonly inSystem?: number | undefined };

/** Configured limits of every tier; pools have both. */
export type Limits = {
  readonly pools: Readonly<Record<string, TierLimits>>;
  readonly apis: Readonly<Record<string, TierLimits>>;
  readonly tenant: TierLimits;
  readonly ip: TierLimits;
};

/** What one tier held and allowed at the moment of a decision. */
export type TierUse = Tier & {
  readonly inSystem: { readonly inUse: number; readonly limit?: number };
  readonly running: { readonly inUse: number; readonly limit?: number };
};

export function tiersOf(task: { pool: string; api: string; tenant: string; ip: string }): Tier[] {
  return tierKinds.map((tier) => ({ tier, name: task[tier] }));
}

export function configuredLimits(limits: Limits, { tier, name }: Tier): TierLimits {
  switch (tier) {
    case 'pool':
      return limits.pools[name] ?? {};
    case 'api':
      return limits.apis[name] ?? {};
    case 'tenant':
    case 'ip':
      return limits[tier];
  }
}
