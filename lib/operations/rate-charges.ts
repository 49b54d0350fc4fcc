import type { Task } from '../config.ts';
import type { AdmitReply } from '../domain/gate-replies.ts';
import { asksOf, type Charge, mostAmount, type RateAsk, requestsCost, rulesOn } from '../domain/rates.ts';
import type { TaskRecord } from '../domain/task-record.ts';
import type { Asking } from './admission.ts';
import type { Deps } from './deps.ts';

/** What a post asks of the rules that guard its api. Nothing is read of its input where no rule counts an amount of it. */
export async function ratesOf({ weir }: Pick<Deps, 'weir'>, { tenant, ip, task, content }: Asking): Promise<RateAsk[]> {
  const rules = rulesOn(weir.rates, 'tasks', task.api).filter(
    ({ cost }) => cost === requestsCost || task.costs?.[cost] !== undefined,
  );
  if (rules.length === 0) return [];
  const names = new Set(rules.map(({ cost }) => cost).filter((cost) => cost !== requestsCost));
  const costs = names.size === 0 ? {} : await estimate(task, [...names], content.input);
  return asksOf(rules, { tenant, ip, api: task.api }, costs);
}

/** Throws where the task's own function gives no amount: a bug of its author. */
async function estimate(task: Task, names: readonly string[], given: unknown): Promise<Record<string, number>> {
  const input: unknown = await task.input.parseAsync(given);
  const costs = names.map((name) => {
    const cost = Math.ceil(task.costs?.[name]?.(input as never) ?? 0);
    if (!(cost >= 0)) throw new TypeError(`expected costs.${name} of ${task.api} to be 0 or more, got ${cost}`);
    return [name, Math.min(mostAmount, cost)] as const;
  });
  return Object.fromEntries(costs);
}

/** What an admission charged: the rules in force that were asked for something. */
export function chargesOf(
  { weir }: Pick<Deps, 'weir'>,
  asks: readonly RateAsk[],
  { rates, now }: Extract<AdmitReply, { kind: 'admitted' }>,
): Charge[] {
  return asks
    .filter(({ rule, amount }) => amount > 0 && rates.some((use) => use.rule === rule))
    .map((ask) => ({ ...ask, cost: weir.rates[ask.rule]?.cost ?? requestsCost, at: now }));
}

type Charged = Pick<TaskRecord, 'id' | 'attempt'> & { readonly charges?: readonly RateAsk[] | undefined };

/**
 * After the end of a task: a task that never ran gets back what it was charged, any other keeps its charges. Once: with that the charges are forgotten,
 * so that whoever comes next finds nothing to give back.
 */
export async function closeCharges(
  { gate }: Pick<Deps, 'gate'>,
  { id, attempt, charges = [] }: Charged,
): Promise<void> {
  if (charges.length === 0) return;
  const amounts = attempt > 0 ? {} : Object.fromEntries(charges.map(({ rule }) => [rule, 0]));
  await gate.settle({ id, charges, amounts, attempt, over: true });
}

/** Corrects an attempt's charges to what its handler says they truly were, by the names of its costs. */
export async function settleCharges(
  { gate }: Pick<Deps, 'gate'>,
  { id, charges = [] }: Pick<TaskRecord, 'id' | 'charges'>,
  attempt: number,
  costs: Readonly<Record<string, number>>,
): Promise<void> {
  const settled = charges.flatMap(({ rule, cost }) => {
    const amount = costs[cost];
    return amount === undefined ? [] : [[rule, Math.min(mostAmount, amount)] as const];
  });
  if (settled.length > 0)
    await gate.settle({ id, charges, amounts: Object.fromEntries(settled), attempt, over: false });
}
