import { asksOf, type RateAsk } from '../../lib/domain/rates.ts';
import type { SettleInput } from '../../lib/ports.ts';
import type { Random } from '../protocol/random.ts';
import { ips, type Task, tenants } from './place.ts';
import { rateNumbersOf, rules, rulesOf } from './rate-rules.ts';

/** Every budget there is. */
export const everyRate: readonly Pick<RateAsk, 'rule' | 'identity'>[] = [
  ...new Map(
    tenants
      .flatMap((tenant) => ips.flatMap((ip) => ratesOf({ tenant, ip })))
      .map(({ rule, identity }) => [`${rule} ${identity}`, { rule, identity }]),
  ).values(),
];

/** What a request of this client asks of each rule. */
export function ratesOf(client: { tenant: string; ip: string }, tokens = 1): RateAsk[] {
  return asksOf(Object.values(rulesOf(() => undefined)), client, { tokens });
}

/** Some of the rules, as this task's client asks them. */
export function someRates({ pick, chance }: Random, { tenant, tiers }: Task, most: number): RateAsk[] {
  const ip = tiers.find(({ tier }) => tier === 'ip')?.name ?? '';
  const all = ratesOf({ tenant, ip }, pick([0, 1, 1, 2, 3, 9]));
  const some = all.filter(() => chance(most / all.length));
  return some.length > 0 ? some : all.slice(0, 1);
}

export function settling(random: Random, task: Task): SettleInput {
  const { pick, chance } = random;
  const amounts = rules.filter(() => chance(0.6)).map((rule) => [rule, pick([0, 0, 1, 2, 3, 9])] as const);
  return {
    id: task.id,
    charges: someRates(random, task, 4),
    amounts: Object.fromEntries(amounts),
    attempt: pick([0, 0, 0, 1, 2]),
    over: chance(0.3),
  };
}

/** Live numbers of some of the rules. */
export function liveRates(random: Random) {
  const some = rules.filter(() => random.chance(0.3));
  return Object.fromEntries(some.map((rule) => [rule, rateNumbersOf(random)]));
}
