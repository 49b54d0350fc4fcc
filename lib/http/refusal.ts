import type { TierKind, TierUse } from '../domain/tiers.ts';
import type { Admission } from '../operations/admission.ts';
import { type Problem, quotaExceeded, reducedCapacity } from './problem.ts';
import { queueView } from './queue-view.ts';

/** Shared capacity is the service's to explain (503); a client's own limit is the client's to keep (429). */
const refusals: Readonly<Record<TierKind, Pick<Problem, 'status' | 'type' | 'title'>>> = {
  pool: { status: 503, type: reducedCapacity, title: 'The pool is full' },
  api: { status: 503, type: reducedCapacity, title: 'This api is full' },
  tenant: { status: 429, type: quotaExceeded, title: 'You have as many tasks in the system as your tenant may' },
  ip: { status: 429, type: quotaExceeded, title: 'Your address has as many tasks in the system as it may' },
};

/** What a refused client reads: which limit, by how much, every tier's numbers, and when to come back. */
export function refusal({
  short,
  limitsVersion,
  tiers,
  retryAfterMs,
}: Extract<Admission, { kind: 'rejected' }>): Problem {
  const full = tiers[short];
  if (full === undefined) throw new Error(`expected tier ${short} among ${tiers.length}`);
  const { tier, name, inSystem } = full;
  return {
    ...refusals[tier],
    code: `${tier}_full`,
    detail: `${inSystem.inUse} tasks are in the system of ${tier} ${name}, the limit is ${inSystem.limit}.`,
    retryAfterMs,
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

/** Nobody can say when a person lets a pool go on: a client asks again in about a minute. */
const pausedRetryMs = 60_000;

export function paused({ pool }: Extract<Admission, { kind: 'paused' }>): Problem {
  return {
    status: 503,
    code: 'paused',
    type: reducedCapacity,
    title: 'The pool is paused',
    detail: `Pool ${pool} was paused by its operator and takes no new tasks until it is resumed.`,
    retryAfterMs: Math.round(pausedRetryMs * (1 + 0.2 * Math.random())),
    members: { tier: 'pool', name: pool, 'violated-policies': [`pool:${pool}`] },
  };
}

/** There is room, but not in time: the client hears where it would stand and how long that takes. */
export function tooLate({
  maxWaitMs,
  expectation,
  limitsVersion,
  tiers,
}: Extract<Admission, { kind: 'too_late' }>): Problem {
  const { eta, position } = expectation;
  const wait = eta.kind === 'unknown' ? undefined : eta.p90;
  const pool: TierUse | undefined = tiers.find(({ tier }) => tier === 'pool');
  return {
    status: 503,
    code: 'wait_too_long',
    type: reducedCapacity,
    title: 'It would start later than you want to wait',
    detail:
      wait === undefined
        ? 'Nothing runs there at the moment, so nobody can say when it would start.'
        : `At position ${position} it starts within ${wait} ms in nine cases of ten; maxWaitMs is ${maxWaitMs}.`,
    retryAfterMs: Math.max(1_000, wait === undefined ? 60_000 : wait - maxWaitMs),
    members: {
      maxWaitMs,
      queue: queueView(expectation),
      'violated-policies': [`pool:${pool?.name}`],
      tiers,
      limitsVersion,
    },
  };
}
