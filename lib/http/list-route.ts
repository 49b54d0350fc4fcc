import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { readCursor, writeCursor } from '../domain/cursor.ts';
import type { TaskId } from '../domain/task-id.ts';
import { taskStatuses } from '../domain/task-record.ts';
import { taskView } from '../domain/task-view.ts';
import type { Deps } from '../operations/deps.ts';
import { type ListRequest, list } from '../operations/list.ts';
import type { Signing } from '../ports.ts';
import { json } from './answer.ts';
import { malformed } from './problem.ts';
import { queryMoment, tenantOf, wholeNumber } from './request.ts';

export type CursorKey = Pick<Signing, 'cursorKey'>;

const mostOnPage = 100;
const usualOnPage = 20;

/** GET /v1/tasks: the caller's own tasks, the latest first, without input and result. `?status`, `?api`, `?createdFrom`, `?createdBefore`, `?limit`, `?cursor`. */
export async function listRoute(
  deps: Pick<Deps, 'records' | 'weir'> & CursorKey,
  baseUrl: string,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const request = readRequest(event);
  const { tenant, status, api, createdFrom, createdBefore } = request;
  const scope = ['tasks', tenant, status ?? '', api ?? '', createdFrom ?? 0, createdBefore ?? 0];
  const key = await deps.cursorKey();
  const after = placeOf(event, key, scope) as TaskId | undefined;
  const { records, next } = await list(deps, { ...request, after });
  const items = records.map((record) => taskView({ ...record, result: undefined }, baseUrl));
  return json(200, {
    items,
    ...(next === undefined ? {} : { nextCursor: writeCursor(key, scope, next) }),
  });
}

/** Where the cursor of the query says to go on; throws 400 for one that was made for another list, or by somebody else. */
export function placeOf(event: APIGatewayProxyEvent, key: Uint8Array, scope: readonly unknown[]): unknown {
  const cursor = event.queryStringParameters?.cursor;
  if (cursor === undefined) return undefined;
  const place = readCursor(key, scope, cursor);
  if (place !== undefined) return place;
  throw malformed('invalid_cursor', 'Expected the nextCursor of the page before, with the same filters.');
}

function readRequest(event: APIGatewayProxyEvent): ListRequest {
  const { status, api } = event.queryStringParameters ?? {};
  const known = taskStatuses.find((each) => each === status);
  if (status !== undefined && known === undefined) {
    const got = JSON.stringify(status.slice(0, 40));
    throw malformed('invalid_status', `Expected status as one of ${taskStatuses.join(', ')}, got ${got}.`);
  }
  return {
    tenant: tenantOf(event),
    status: known,
    api,
    createdFrom: queryMoment(event, 'createdFrom'),
    createdBefore: queryMoment(event, 'createdBefore'),
    limit: wholeNumber(event, 'limit', { from: 1, to: mostOnPage }) ?? usualOnPage,
  };
}
