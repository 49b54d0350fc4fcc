import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import * as z from 'zod';
import { writeCursor } from '../domain/cursor.ts';
import { isTaskId, toTaskId } from '../domain/task-id.ts';
import { isoTime } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { type DeadLetter, deadLetters } from '../operations/dead-letters.ts';
import { type Matched, startRedrive, stopRedrive } from '../operations/redrive-job.ts';
import type { Positions, RedriveJob } from '../ports.ts';
import { json } from './answer.ts';
import type { ControlDeps } from './control-route.ts';
import { placeOf } from './list-route.ts';
import { ProblemError } from './problem.ts';
import { isoMoment, queryFlag, wholeNumber } from './request.ts';
import { readJsonBody } from './request-body.ts';
import { subjectOf } from './scope.ts';

const mostOnPage = 100;
const scope = ['dead-letters'];
/** Of an unreadable message, for an operator to recognise it. */
const mostBody = 2_000;

/** GET /v1/operator/dead-letters: what was given up, the latest first. `?limit`, `?cursor`. */
export async function deadLettersRoute(deps: ControlDeps, event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const key = await deps.cursorKey();
  const limit = wholeNumber(event, 'limit', { from: 1, to: mostOnPage }) ?? mostOnPage;
  const { letters, positions } = await deadLetters(deps, {
    limit,
    after: placeOf(event, key, scope) as Positions | undefined,
  });
  return json(200, {
    items: letters.map(view),
    ...(positions === undefined ? {} : { nextCursor: writeCursor(key, scope, positions) }),
  });
}

function view(letter: DeadLetter): Record<string, unknown> {
  if (letter.kind === 'unreadable') {
    const { id, queue, body, finishedAt } = letter.message;
    return { kind: 'unreadable', messageId: id, queue, deadSince: isoTime(finishedAt), body: body.slice(0, mostBody) };
  }
  const { id, tenant, api, pool, error, attempt, failures, lostLeases, burials, createdAt, finishedAt } = letter.record;
  return {
    kind: 'task',
    ...{ id, tenant, api, pool, error, attempt, failures, lostLeases, burials },
    createdAt: isoTime(createdAt),
    ...(finishedAt === undefined ? {} : { deadSince: isoTime(finishedAt) }),
  };
}

const text = z.string().min(1).max(256);
const request = z.strictObject({
  filter: z
    .strictObject({
      ids: z
        .array(z.string().refine(isTaskId, 'expected the id of a task').transform(toTaskId))
        .min(1)
        .max(1_000)
        .optional(),
      api: text.optional(),
      pool: text.optional(),
      tenant: text.optional(),
      code: text.optional(),
      after: isoMoment.optional(),
      before: isoMoment.optional(),
    })
    .default({}),
  dryRun: z.boolean().default(false),
  perSecond: z.number().min(0.1).max(200).default(20),
});

/**
 * POST /v1/operator/dead-letters/redrive `{filter, dryRun, perSecond}`: does dead tasks again, each as a new one through admission. 202 once it has
 * begun; reconcile does it, and GET tells how far it is. One at a time: 409 while another is under way.
 */
export async function startRedriveRoute(
  deps: ControlDeps,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const asked = readJsonBody(event, request);
  const dryRun = asked.dryRun || queryFlag(event, 'dryRun');
  const started = await startRedrive(deps, { ...asked, dryRun, by: subjectOf(event) });
  switch (started.kind) {
    case 'would_start':
      return json(200, { dryRun: true, ...matchedView(started) });
    case 'started':
      return json(202, { ...matchedView(started), ...jobView(started.job) });
    case 'running':
      throw new ProblemError({
        status: 409,
        code: 'redrive_running',
        title: 'A redrive is under way',
        detail: 'Wait until it is done, or stop it with DELETE.',
        members: { redrive: jobView(started.job) },
      });
    default:
      return unreachable(started);
  }
}

/** GET /v1/operator/dead-letters/redrive: the one under way, or the last. */
export async function readRedriveRoute({ records }: ControlDeps): Promise<APIGatewayProxyResult> {
  const job = await records.readRedrive();
  if (job === undefined) throw noRedrive();
  return json(200, jobView(job));
}

/** DELETE /v1/operator/dead-letters/redrive: stops the one under way; tasks it has made stay. */
export async function stopRedriveRoute(deps: ControlDeps): Promise<APIGatewayProxyResult> {
  const job = await stopRedrive(deps);
  if (job === undefined) throw noRedrive();
  return json(200, jobView(job));
}

function noRedrive(): ProblemError {
  const detail = 'None is under way.';
  return new ProblemError({ status: 404, code: 'no_redrive', title: 'There is no redrive', detail });
}

function matchedView({ matched, byApi, byCode, complete }: Matched): Record<string, unknown> {
  return { matched, byApi, byCode, complete };
}

function jobView({ changes: _, filter, startedAt, endedAt, ...job }: RedriveJob): Record<string, unknown> {
  const { after, before, ...rest } = filter;
  return {
    ...job,
    filter: {
      ...rest,
      ...(after === undefined ? {} : { after: isoTime(after) }),
      ...(before === undefined ? {} : { before: isoTime(before) }),
    },
    startedAt: isoTime(startedAt),
    ...(endedAt === undefined ? {} : { endedAt: isoTime(endedAt) }),
  };
}
