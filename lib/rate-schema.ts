import * as z from 'zod';
import { rateFaults } from './domain/rate-form.ts';
import { type RateNumbers, type RateRule, rateAlgorithms, rateParts, requestsCost, rulesOn } from './domain/rates.ts';
import type { TaskDefinition } from './task.ts';

/** Routes a rule may guard beside single apis. */
const groups = ['tasks', 'reads', 'hooks'];
/** Rules of one route: a decision looks at each. */
const mostRules = 16;

const name = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected 1 to 32 of a-z, 0-9 and -, a letter first');
const costName = z
  .string()
  .regex(/^[a-zA-Z][A-Za-z0-9]{0,31}$/, 'expected 1 to 32 letters and digits, a letter first')
  .refine((text) => text !== requestsCost, 'expected a name other than requests, which counts requests');

/** What a task type estimates, by name. */
export const costs = z.record(
  costName,
  z.custom<NonNullable<TaskDefinition['costs']>[string]>((value) => typeof value === 'function', 'expected a function'),
);

const part = z.enum(rateParts);
const identity = z.union([
  z.literal('global').transform(() => []),
  part.transform((one) => [one]),
  z.tuple([part, part]).transform((two): (typeof part)['_output'][] => two),
]);

const rule = z
  .strictObject({
    on: z.array(z.string()).min(1).max(100).default(['tasks']),
    identity,
    cost: z.string().default(requestsCost),
    whenUnavailable: z.enum(['admit', 'refuse']).default('admit'),
    algorithm: z.enum(rateAlgorithms).optional(),
    limit: z.number().optional(),
    periodMs: z.number().optional(),
    burst: z.number().optional(),
    calendar: z.boolean().optional(),
  })
  .check((ctx) => {
    for (const { path, message } of rateFaults(numbersOf(ctx.value) ?? whole, '')) {
      ctx.issues.push({ code: 'custom', input: ctx.value, path: path.split('.').filter(Boolean), message });
    }
  });

/** Of a rule without numbers, which has none that could be wrong. */
const whole: RateNumbers = { algorithm: 'fixed-window', limit: 1, periodMs: 1 };

type Given = { readonly [Name in keyof RateNumbers]?: RateNumbers[Name] | undefined };

function numbersOf({ algorithm, limit, periodMs, burst, calendar }: Given): RateNumbers | undefined {
  const given = Object.entries({ algorithm, limit, periodMs, burst, calendar }).filter(
    ([, value]) => value !== undefined,
  );
  return given.length === 0 ? undefined : (Object.fromEntries(given) as RateNumbers);
}

/** The rules by name, checked each by itself; `rateRuleFaults` checks them beside the tasks. */
export const rates = z.record(name, rule).transform(
  (rules): Record<string, RateRule> =>
    Object.fromEntries(
      Object.entries(rules).map(([name, { on, identity, cost, whenUnavailable, ...rest }]) => {
        const numbers = numbersOf(rest);
        return [name, { name, on, identity, cost, whenUnavailable, ...(numbers === undefined ? {} : { numbers }) }];
      }),
    ),
);
/** What the author of a configuration may write. */
export type RateRuleSource = z.input<typeof rule>;

type Fault = { readonly path: (string | number)[]; readonly message: string };
type Costly = { readonly api: string; readonly costs?: Readonly<Record<string, unknown>> | undefined };

/** Rules that name a route, an identity or a cost that there is not. */
export function rateRuleFaults(rules: Readonly<Record<string, RateRule>>, tasks: readonly Costly[]): Fault[] {
  const routes = [...groups, ...tasks.map(({ api }) => api)];
  const faults: Fault[] = Object.values(rules).flatMap(({ name, on, identity, cost }) => {
    const fault = (member: string, message: string): Fault => ({ path: ['rates', name, member], message });
    const guarded = tasks.filter(({ api }) => on.includes('tasks') || on.includes(api));
    const known = [requestsCost, ...guarded.flatMap(({ costs }) => Object.keys(costs ?? {}))];
    const asks = (route: string) => on.includes(route);
    return [
      ...on.filter((route) => !routes.includes(route)).map((route) => fault('on', unknown(routes, route))),
      ...(identity[0] === identity[1] && identity.length > 1 ? [fault('identity', 'expected two that differ')] : []),
      ...(identity.includes('source') && (guarded.length > 0 || asks('reads'))
        ? [fault('identity', 'expected no source: only hooks have one')]
        : []),
      ...(identity.includes('api') && (asks('reads') || asks('hooks'))
        ? [fault('identity', 'expected no api: only task routes have one')]
        : []),
      ...(known.includes(cost) ? [] : [fault('cost', unknown(known, cost))]),
    ];
  });
  const most = [...tasks.map(({ api }) => ['tasks', api]), ['reads'], ['hooks']];
  const crowded = most.find((routes) => rulesOn(rules, ...routes).length > mostRules);
  return crowded === undefined
    ? faults
    : [...faults, { path: ['rates'], message: `expected at most ${mostRules} rules on ${crowded.at(-1)}` }];
}

function unknown(known: readonly string[], got: string): string {
  return `expected one of ${known.join(', ')}, got ${got}`;
}
