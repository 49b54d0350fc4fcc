import type * as z from 'zod';
import {
  type callbacks as callbacksSchema,
  config,
  type pool as poolSchema,
  type reserved as reservedSchema,
  type task as taskSchema,
  type times as timesSchema,
} from './config-schema.ts';
import type { RateRules } from './domain/rates.ts';
import type { Limits } from './domain/tiers.ts';
import type { Hook, HookSource } from './hook-schema.ts';
import { applyLimitVariables } from './limit-variables.ts';
import type { RateRuleSource } from './rate-schema.ts';
import type { TaskDefinition } from './task.ts';

export { attemptMarginMs, reconcilePeriodMs, seatMarginMs } from './config-schema.ts';

type LimitPair = { readonly running?: number; readonly inSystem?: number };

/** `weir.config.ts` as its author writes it; `docs/configuration.md` describes each field. */
export type WeirConfig<Pool extends string = string> = {
  readonly pools: Readonly<Record<Pool, z.input<typeof poolSchema>>>;
  readonly apis?: Readonly<Record<string, LimitPair>>;
  readonly tenant?: LimitPair;
  readonly ip?: LimitPair;
  readonly rates?: Readonly<Record<string, RateRuleSource>>;
  readonly hooks?: Readonly<Record<string, HookSource>>;
  readonly times?: z.input<typeof timesSchema>;
  readonly callbacks?: { readonly trustedOrigins?: readonly string[] };
  readonly reserved?: { readonly status?: number };
  readonly tasks: readonly TaskDefinition<NoInfer<Pool>>[];
};

/** The configuration after defaults, environment variables and checks: what the rest of Weir reads. */
export type Weir = {
  readonly pools: Readonly<Record<string, Pool>>;
  readonly tasks: Readonly<Record<string, Task>>;
  readonly times: z.output<typeof timesSchema>;
  readonly callbacks: z.output<typeof callbacksSchema>;
  readonly reserved: z.output<typeof reservedSchema>;
  readonly limits: Limits;
  readonly rates: RateRules;
  readonly hooks: Readonly<Record<string, Hook>>;
};
export type Pool = z.output<typeof poolSchema> & { readonly name: string };
export type Task = z.output<typeof taskSchema>;

/** Types a configuration: a task that names an unknown pool does not compile. `checkConfig` checks the rest. */
export function defineConfig<const Pool extends string>(source: WeirConfig<Pool>): WeirConfig {
  return source;
}

/** A configuration that cannot be run; the message has one line per fault, with the field, what was expected and what came. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(faults: readonly string[]) {
    super(['weir.config.ts cannot be used:', ...faults.map((line) => `  ${line}`)].join('\n'));
  }
}

/** Checks the configuration with what `variables` override in it (see `limit-variables.ts`); throws `ConfigError`. */
export function checkConfig(source: WeirConfig, variables: Readonly<Record<string, string | undefined>> = {}): Weir {
  const overridden = applyLimitVariables(source, variables);
  if (overridden.kind === 'faults') throw new ConfigError(overridden.faults);
  const parsed = config.safeParse(overridden.config);
  if (!parsed.success) throw new ConfigError(parsed.error.issues.map((issue) => describe(issue, overridden.config)));
  const { pools, apis, tenant, ip, rates, hooks, tasks, times, callbacks, reserved } = parsed.data;
  return {
    pools: Object.fromEntries(Object.entries(pools).map(([name, value]) => [name, { ...value, name }])),
    tasks: Object.fromEntries(tasks.map((each) => [each.api, each])),
    times,
    callbacks,
    reserved,
    rates,
    hooks,
    limits: {
      pools: Object.fromEntries(
        Object.entries(pools).map(([name, { running, pending }]) => [name, { running, inSystem: running + pending }]),
      ),
      apis,
      tenant,
      ip,
    },
  };
}

function describe(issue: z.core.$ZodIssue, source: unknown): string {
  const field = issue.path.map(String).join('.') || 'the config';
  if (issue.code === 'invalid_key') return `${field}: ${issue.issues.map(({ message }) => message).join('; ')}`;
  const got = issue.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key],
    source,
  );
  const told = issue.code === 'custom' || typeof got === 'object' || typeof got === 'function';
  return `${field}: ${issue.message}${told ? '' : `, got ${JSON.stringify(got)}`}`;
}
