import type { APIGatewayProxyEvent } from 'aws-lambda';
import { isTerminal, type TaskRecord } from '../domain/task-record.ts';
import { taskView } from '../domain/task-view.ts';
import { unreachable } from '../domain/unreachable.ts';
import type { Deps } from '../operations/deps.ts';
import { longestWaitMs, status } from '../operations/status.ts';
import { waiting } from '../operations/waiting.ts';
import { pollAfterMs } from './admit-route.ts';
import { empty, json, retryAfterSeconds } from './answer.ts';
import { header } from './header.ts';
import type { Route } from './http-handler.ts';
import { type CursorKey, listRoute } from './list-route.ts';
import { malformed } from './problem.ts';
import { queueView } from './queue-view.ts';
import { taskIdOf, tenantOf, unknownTask } from './request.ts';

/** GET /v1/tasks, and GET /v1/tasks/{id}: `?wait=20` or `Prefer: wait=20` holds the answer for a change; `If-None-Match` answers 304 while there is none. */
export function statusRoute(
  deps: Pick<Deps, 'records' | 'clock' | 'gate' | 'outlook' | 'weir'> & CursorKey,
  baseUrl: string,
): Route {
  return async (event) => {
    if (event.resource === '/v1/tasks') return listRoute(deps, baseUrl, event);
    const id = taskIdOf(event);
    const request = { tenant: tenantOf(event), id, waitMs: waitMs(event), known: knownRevision(event) };
    const found = await status(deps, request);
    if (found.kind === 'absent') throw unknownTask(id);
    const { record } = found;
    const headers = {
      ETag: `"${record.revision}"`,
      ...(isTerminal(record.status) ? {} : { 'Retry-After': retryAfterSeconds(pollAfterMs) }),
    };
    switch (found.kind) {
      case 'unchanged':
        return empty(304, headers);
      case 'found':
        return json(200, { ...taskView(record, baseUrl), ...(await queueMembers(deps, record)) }, headers);
      default:
        return unreachable(found);
    }
  };
}

function waitMs(event: APIGatewayProxyEvent): number {
  const asked = event.queryStringParameters?.wait;
  const preferred = /(?:^|[,;\s])wait=(\d{1,6})(?:$|[,;\s])/.exec(header(event, 'prefer') ?? '')?.[1];
  if (asked !== undefined && !/^\d{1,6}$/.test(asked)) {
    throw malformed(
      'invalid_wait',
      `Expected wait as whole seconds, at most ${longestWaitMs / 1_000}, got ${JSON.stringify(asked.slice(0, 20))}.`,
    );
  }
  return Math.min(longestWaitMs, Number(asked ?? preferred ?? 0) * 1_000);
}

/** The revision in `If-None-Match: "7"`, weak or strong; anything else matches nothing. */
function knownRevision(event: APIGatewayProxyEvent): number | undefined {
  const digits = /^(?:W\/)?"(\d{1,15})"$/.exec(header(event, 'if-none-match')?.trim() ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

async function queueMembers(deps: Parameters<typeof waiting>[0], record: TaskRecord): Promise<Record<string, unknown>> {
  const seen = await waiting(deps, record);
  return seen === undefined ? {} : { waitingOn: seen.waitingOn, queue: queueView(seen.expectation) };
}
