import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { LedgerSlot } from '../domain/gate-replies.ts';
import type { Tier } from '../domain/tiers.ts';
import { isoTime } from '../domain/time.ts';
import { json } from './answer.ts';
import type { ControlDeps } from './control-route.ts';
import { ProblemError } from './problem.ts';

/** GET /v1/operator/slots: who holds which slots of every pool and api; `?pool=examples` or `?api=examples/probe` for one. */
export async function slotsRoute(
  { weir, gate }: ControlDeps,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const { pool, api } = event.queryStringParameters ?? {};
  const all: Tier[] = [
    ...named('pool', Object.keys(weir.pools), pool, api),
    ...named('api', Object.keys(weir.tasks), api, pool),
  ];
  const { now, slots } = await gate.ledger(all);
  return json(200, { at: isoTime(now), items: slots.map(slotView) });
}

/** All of a kind, the one that is asked for, or none where only another kind is. */
function named(
  tier: 'pool' | 'api',
  names: readonly string[],
  asked: string | undefined,
  other: string | undefined,
): Tier[] {
  if (asked === undefined) return other === undefined ? names.map((name) => ({ tier, name })) : [];
  if (names.includes(asked)) return [{ tier, name: asked }];
  const detail = `Expected ${tier} as one of ${names.join(', ')}.`;
  throw new ProblemError({ status: 404, code: `unknown_${tier}`, title: `There is no such ${tier}`, detail });
}

function slotView({ since, lastHeartbeat, lapsesAt, ...slot }: LedgerSlot): Record<string, unknown> {
  return {
    ...slot,
    ...(since === undefined ? {} : { since: isoTime(since) }),
    ...(lastHeartbeat === undefined ? {} : { lastHeartbeat: isoTime(lastHeartbeat) }),
    lapsesAt: isoTime(lapsesAt),
  };
}
