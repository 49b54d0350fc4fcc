import type { Task, Weir } from '../config.ts';
import type { Full } from '../domain/gate-replies.ts';
import { retryAfterMs } from '../domain/retry-after.ts';
import type { TierKind } from '../domain/tiers.ts';
import { configuredLimits } from '../domain/tiers.ts';
import { type Problem, quotaExceeded, reducedCapacity } from './problem.ts';

/** Shared capacity is the service's to explain (503); a client's own limit is the client's to keep (429). */
const refusals: Readonly<Record<TierKind, Pick<Problem, 'status' | 'type' | 'title'>>> = {
  pool: { status: 503, type: reducedCapacity, title: 'The pool is full' },
  api: { status: 503, type: reducedCapacity, title: 'This api is full' },
  tenant: { status: 429, type: quotaExceeded, title: 'You have as many tasks in the system as your tenant may' },
  ip: { status: 429, type: quotaExceeded, title: 'Your address has as many tasks in the system as it may' },
};

/** What a refused client reads: which limit, by how much, every tier's numbers, and when to come back. */
export function refusal(weir: Weir, task: Task, client: string, { short, limitsVersion, tiers }: Full): Problem {
  const full = tiers[short];
  if (full === undefined) throw new Error(`expected tier ${short} among ${tiers.length}`);
  const { tier, name, inSystem } = full;
  const running = configuredLimits(weir.limits, { tier: 'pool', name: task.pool }).running;
  return {
    ...refusals[tier],
    code: `${tier}_full`,
    detail: `${inSystem.inUse} tasks are in the system of ${tier} ${name}, the limit is ${inSystem.limit}.`,
    retryAfterMs: retryAfterMs(task.timeoutMs, full.running.limit ?? running, client),
    members: {
      tier,
      name,
      inUse: inSystem.inUse,
      limit: inSystem.limit,
      'violated-policies': [`${tier}:${name}`],
      tiers,
      limitsVersion,
    },
  };
}
