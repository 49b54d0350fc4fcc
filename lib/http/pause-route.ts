import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import * as z from 'zod';
import type { Pause } from '../domain/live-limits.ts';
import { changePause } from '../operations/pause.ts';
import { json } from './answer.ts';
import type { ControlDeps } from './control-route.ts';
import { ProblemError } from './problem.ts';
import { readJsonBody } from './request-body.ts';
import { subjectOf } from './scope.ts';

const body = z.strictObject({ admission: z.enum(['continue', 'refuse']).default('continue') });

/** POST /v1/operator/pools/{pool}/pause with `{"admission":"continue"|"refuse"}`, and …/resume. Asked again, it changes nothing more. */
export async function pauseRoute(
  deps: ControlDeps,
  event: APIGatewayProxyEvent,
  how: 'pause' | 'resume',
): Promise<APIGatewayProxyResult> {
  const pool = event.pathParameters?.pool ?? '';
  const known = Object.keys(deps.weir.pools);
  if (!known.includes(pool)) {
    const detail = `Expected one of ${known.join(', ')}.`;
    throw new ProblemError({ status: 404, code: 'unknown_pool', title: 'There is no such pool', detail });
  }
  const pause: Pause | undefined = how === 'pause' ? readJsonBody(event, body) : undefined;
  const changed = await changePause(deps, { pool, pause, by: subjectOf(event) });
  return json(200, {
    pool,
    paused: pause !== undefined,
    ...pause,
    version: changed.version,
    changed: changed.kind !== 'unchanged',
    ...(changed.kind === 'delayed' ? { delayed: true } : {}),
  });
}
