import type { WeirConfig } from './config.ts';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
type Overridden = { kind: 'config'; config: WeirConfig } | { kind: 'faults'; faults: string[] };

const trustedOrigins = 'WEIR_CALLBACKS_TRUSTED_ORIGINS';

/** Prefixes of the environment variables that override the configuration; the stack hands variables with these to every function. */
export const limitVariablePrefixes = [
  'WEIR_POOLS_',
  'WEIR_APIS_',
  'WEIR_TENANT_',
  'WEIR_IP_',
  'WEIR_RATES_',
  'WEIR_CALLBACKS_',
];

/**
 * Sets limits from environment variables, one per limit: the path in the config in capitals, words joined by `_`.
 * `WEIR_POOLS_EXAMPLES_RUNNING=2`, `WEIR_APIS_EXAMPLES_PROBE_IN_SYSTEM=5`, `WEIR_IP_IN_SYSTEM=2`, `WEIR_RATES_SUBMIT_IP_LIMIT=20`. One more replaces
 * the origins that callbacks may always reach: `WEIR_CALLBACKS_TRUSTED_ORIGINS=http://127.0.0.1:4000,https://hooks.internal`. A name that fits neither
 * is a fault.
 */
export function applyLimitVariables(
  source: WeirConfig,
  variables: Readonly<Record<string, string | undefined>>,
): Overridden {
  const paths = new Map(limitPaths(source).map((path) => [variableName(path), path]));
  const config: Writable<WeirConfig> = {
    ...source,
    pools: Object.fromEntries(Object.entries(source.pools).map(([name, pool]) => [name, { ...pool }])),
    apis: Object.fromEntries(Object.entries(source.apis ?? {}).map(([name, limits]) => [name, { ...limits }])),
    tenant: { ...source.tenant },
    ip: { ...source.ip },
    rates: Object.fromEntries(Object.entries(source.rates ?? {}).map(([name, rule]) => [name, { ...rule }])),
  };
  const faults: string[] = [];
  for (const [name, text] of Object.entries(variables)) {
    if (text === undefined || !limitVariablePrefixes.some((prefix) => name.startsWith(prefix))) continue;
    if (name === trustedOrigins) {
      config.callbacks = { ...config.callbacks, trustedOrigins: listed(text) };
      continue;
    }
    const path = paths.get(name);
    if (path === undefined) faults.push(`${name}: names no limit; known are ${[...paths.keys()].join(', ')}`);
    else if (path.at(-1) === 'algorithm') setAt(config, path, text);
    else if (!/^\d{1,10}$/.test(text)) faults.push(`${name}: expected a whole number, got ${JSON.stringify(text)}`);
    else setAt(config, path, Number(text));
  }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'config', config };
}

function listed(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function limitPaths(source: WeirConfig): string[][] {
  const pools = Object.keys(source.pools).flatMap((name) => [
    ['pools', name, 'running'],
    ['pools', name, 'pending'],
  ]);
  const apis = source.tasks.flatMap(({ api }) => [
    ['apis', api, 'running'],
    ['apis', api, 'inSystem'],
  ]);
  const clients = ['tenant', 'ip'].flatMap((tier) => [
    [tier, 'running'],
    [tier, 'inSystem'],
  ]);
  const rates = Object.keys(source.rates ?? {}).flatMap((name) =>
    ['algorithm', 'limit', 'periodMs', 'burst'].map((member) => ['rates', name, member]),
  );
  return [...pools, ...apis, ...clients, ...rates];
}

function variableName(path: readonly string[]): string {
  const words = path.map((part) => part.replace(/[A-Z]/g, (letter) => `_${letter}`).replace(/[^A-Za-z0-9]+/g, '_'));
  return `WEIR_${words.join('_')}`.toUpperCase();
}

function setAt(target: object, path: readonly string[], value: number | string): void {
  let at = target as Record<string, unknown>;
  for (const part of path.slice(0, -1)) {
    at[part] ??= {};
    at = at[part] as Record<string, unknown>;
  }
  at[path.at(-1) as string] = value;
}
