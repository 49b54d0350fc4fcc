import { hashOf } from '../../../lib/adapters/redis/keys.ts';
import type { RateReply, SettleReply } from '../../../lib/domain/gate-replies.ts';
import { type RateForm, rateForm } from '../../../lib/domain/rate-form.ts';
import type { RateAsk, RateUse } from '../../../lib/domain/rates.ts';
import { day } from '../../../lib/domain/time.ts';
import type { RateInput, SettleInput } from '../../../lib/ports.ts';
import type { RateState, World } from './world.ts';

export const chargesLastMs = 2 * day;

/** One budget as it stands at `world.now`: how many units are left of a full one, and what an amount of 1 takes. */
type Budget = {
  readonly ask: RateAsk;
  readonly form: RateForm;
  readonly cap: bigint;
  readonly one: bigint;
  /** Units that come back each ms; 0 = all of them at `ends`. */
  readonly perMs: bigint;
  readonly ends: number;
  readonly opened: number;
  left: bigint;
};

export function rateName({ rule, identity }: Pick<RateAsk, 'rule' | 'identity'>): string {
  return `${rule} ${identity}`;
}

function formOf(world: World, rule: string): RateForm | undefined {
  const numbers = world.liveRates[rule] ?? world.settings.rates?.[rule]?.numbers;
  return numbers && rateForm(numbers);
}

/** The rules of these that are on, in order. */
export function budgetsOf(world: World, asks: readonly RateAsk[]): Budget[] {
  return asks.flatMap((ask) => {
    const form = formOf(world, ask.rule);
    return form === undefined ? [] : [budgetOf(world, ask, form)];
  });
}

function budgetOf(world: World, ask: RateAsk, form: RateForm): Budget {
  const state = world.rates.get(rateName(ask));
  const [a, b, c] = [BigInt(form.a), BigInt(form.b), BigInt(form.c)];
  const { now } = world;
  const none = { ask, form, opened: now, ends: 0 };
  switch (form.kind) {
    case 'bucket': {
      const budget = { ...none, cap: a * c, one: c, perMs: b, left: a * c };
      return state?.kind === 'bucket' ? bucketAt(now, budget, state) : budget;
    }
    case 'gcra': {
      const cap = a * b;
      const used = state?.kind === 'gcra' ? state.tat - BigInt(now) * 1000n : 0n;
      return { ...none, cap, one: b, perMs: 1000n, left: cap - clamp(used, 0n, 2n * cap) };
    }
    default: {
      const live = state?.kind === 'window' && state.ends > now ? state : undefined;
      const ends = live !== undefined && live.ends - now <= form.b ? live.ends : windowEnd(now, ask, form);
      const opened = Math.min(now, live?.opened ?? now);
      return { ...none, cap: a, one: 1n, perMs: 0n, ends, opened, left: a - BigInt(live?.count ?? 0) };
    }
  }
}

/** The first moment after now at which a window of this identity begins. */
function windowEnd(now: number, { identity }: RateAsk, { kind, b: windowMs }: RateForm): number {
  if (kind === 'quota') return now + windowMs;
  const phase = kind === 'hashed' ? hashOf(identity).number % windowMs : 0;
  let begun = Math.floor(now / windowMs) * windowMs + phase;
  if (begun > now) begun -= windowMs;
  return begun + windowMs;
}

/** Refilled as the bucket was, then as it is now: the same tokens, no more than fit, and what it grew by on top. */
function bucketAt(now: number, budget: Budget, state: Extract<RateState, { kind: 'bucket' }>): Budget {
  const then = { burst: BigInt(state.burst), refill: BigInt(state.refill), token: BigInt(state.token) };
  const passed = BigInt(Math.max(0, now - state.at));
  const level = state.level + passed * then.refill;
  if (level >= then.burst * then.token) return budget;
  const grown = BigInt(Math.max(0, budget.form.a - state.burst)) * budget.one;
  const converted = floorDiv(level * budget.one, then.token) + grown;
  return { ...budget, left: clamp(converted, -budget.cap, budget.cap), opened: Math.min(now, state.opened) };
}

function waitFor({ left, perMs, ends }: Budget, units: bigint, now: number): number {
  if (left >= units) return 0;
  return perMs === 0n ? ends - now : Number(-floorDiv(left - units, perMs));
}

export function useOf(budget: Budget, now: number): RateUse {
  const { ask, form, cap, one, perMs, left, ends } = budget;
  return {
    rule: ask.rule,
    limit: form.a,
    windowMs: perMs === 0n ? form.b : Number(-floorDiv(-cap, perMs)),
    remaining: Math.max(0, Number(floorDiv(left, one))),
    resetMs: perMs === 0n ? ends - now : waitFor(budget, cap, now),
  };
}

/** What stands in the way: an amount that never fits, or the longest wait. */
export function judge(world: World, budgets: readonly Budget[]) {
  const never = budgets.find(({ ask, form }) => form.a > 0 && ask.amount > form.a);
  if (never !== undefined) return { kind: 'too_costly' as const, rule: never.ask.rule, limit: never.form.a };
  const waits = budgets.map((budget) =>
    budget.ask.amount === 0 ? 0 : waitFor(budget, BigInt(budget.ask.amount) * budget.one, world.now),
  );
  const retryAfterMs = Math.max(0, ...waits);
  const short = budgets[waits.indexOf(retryAfterMs)];
  if (retryAfterMs === 0 || short === undefined) return undefined;
  const rates = budgets.map((budget) => useOf(budget, world.now));
  return {
    ...{ kind: 'rate_limited' as const, short: short.ask.rule, retryAfterMs },
    ...{ limitsVersion: world.version ?? 0, rates },
  };
}

export function charge(world: World, budgets: readonly Budget[]): RateUse[] {
  for (const budget of budgets) {
    if (budget.ask.amount === 0) continue;
    budget.left -= BigInt(budget.ask.amount) * budget.one;
    keep(world, budget);
  }
  return budgets.map((budget) => useOf(budget, world.now));
}

function keep(world: World, budget: Budget): void {
  const { ask, form, left, cap, opened, ends } = budget;
  const { now, rates } = world;
  if (left >= cap) {
    rates.delete(rateName(ask));
    return;
  }
  const expires = now + waitFor(budget, cap, now);
  if (form.kind === 'bucket') {
    const [burst, refill, token] = [form.a, form.b, form.c];
    rates.set(rateName(ask), { kind: 'bucket', level: left, at: now, opened, burst, refill, token, expires });
  } else if (form.kind === 'gcra') {
    rates.set(rateName(ask), { kind: 'gcra', tat: BigInt(now) * 1000n + cap - left, expires });
  } else rates.set(rateName(ask), { kind: 'window', count: Number(cap - left), opened, ends, expires });
}

/** Rules alone: all or none. */
export function rate(world: World, { asks }: RateInput): RateReply {
  const budgets = budgetsOf(world, asks);
  const refused = judge(world, budgets);
  if (refused !== undefined) return refused;
  return { kind: 'passed', rates: charge(world, budgets) };
}

/** What was charged becomes what should have been; of what is given back only what the rule still remembers. */
export function settle(world: World, { id, charges, amounts, attempt, over }: SettleInput): SettleReply {
  const charged = world.charges.get(id);
  if (charged === undefined) return { kind: 'gone' };
  if (attempt < charged.attempt) return { kind: 'stale' };
  const now = new Map(charged.amounts);
  for (const { rule, identity } of charges) {
    const amount = amounts[rule];
    const before = charged.amounts.get(rule);
    if (amount === undefined || before === undefined || amount === before) continue;
    now.set(rule, amount);
    const [budget] = budgetsOf(world, [{ rule, identity, amount }]);
    if (budget === undefined) continue;
    const left = corrected(budget, amount - before, charged.at, world.now);
    if (left === budget.left) continue;
    budget.left = left;
    keep(world, budget);
  }
  if (over) world.charges.delete(id);
  else world.charges.set(id, { ...charged, attempt, amounts: new Map([...now].sort(byText)) });
  return { kind: 'settled' };
}

function corrected({ left, cap, one, opened, form, perMs }: Budget, by: number, at: number, now: number): bigint {
  const units = BigInt(Math.abs(by)) * one;
  // Owed down to one burst; who owes more already, by a limit that was lowered, owes no more for it.
  if (by > 0) return left < -cap ? left : clamp(left - units, -cap, left);
  const since = BigInt(Math.max(0, now - at));
  const drained = form.kind === 'gcra' ? since * perMs : at < opened ? units : 0n;
  return clamp(left + clamp(units - drained, 0n, units), left, cap);
}

function byText([a, amountA]: [string, number], [b, amountB]: [string, number]): number {
  return `${a}=${amountA}` < `${b}=${amountB}` ? -1 : 1;
}

function clamp(value: bigint, least: bigint, most: bigint): bigint {
  return value < least ? least : value > most ? most : value;
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}
