import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { attachment } from '../domain/download-name.ts';
import { isTerminal, type TaskRecord } from '../domain/task-record.ts';
import { statusUrl } from '../domain/task-view.ts';
import { minute } from '../domain/time.ts';
import type { Links, Records } from '../ports.ts';
import { pollAfterMs } from './admit-route.ts';
import { empty, json } from './answer.ts';
import { type Problem, ProblemError } from './problem.ts';
import { taskIdOf, tenantOf, unknownTask } from './request.ts';

export type ResultDeps = { readonly records: Pick<Records, 'read'>; readonly links: Pick<Links, 'download'> };

const linkMs = 5 * minute;

/** GET /v1/tasks/{id}/result: the JSON itself, or 303 to a URL that is good for five minutes where the result is stored. */
export async function resultRoute(
  { records, links }: ResultDeps,
  baseUrl: string,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const id = taskIdOf(event);
  const record = await records.read({ tenant: tenantOf(event), id });
  if (record === undefined) throw unknownTask(id);
  const { result, resultFile } = record;
  if (result !== undefined) return { ...json(200, null), body: result };
  if (resultFile === undefined) throw new ProblemError(noResult(record, baseUrl));
  const { key, mediaType, name } = resultFile;
  const disposition = attachment(name, mediaType === 'application/json' ? `${id}.json` : id);
  return empty(303, { Location: await links.download(key, { mediaType, disposition }, linkMs) });
}

function noResult(record: TaskRecord, baseUrl: string): Problem {
  const { status } = record;
  const members = { state: status, statusUrl: statusUrl(record, baseUrl) };
  if (!isTerminal(status)) {
    return {
      status: 409,
      code: 'not_finished',
      title: 'The task has not ended yet',
      detail: `It is ${status}; its result can be read once it has succeeded.`,
      retryAfterMs: pollAfterMs,
      members,
    };
  }
  if (status === 'succeeded') {
    return {
      status: 410,
      code: 'result_expired',
      title: 'The result is not kept any more',
      detail: 'The task succeeded, and the time for which its results are kept is over.',
      members,
    };
  }
  return { status: 409, code: 'no_result', title: 'The task has no result', detail: `It ended as ${status}.`, members };
}
