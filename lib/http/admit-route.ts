import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { Task } from '../config.ts';
import { statusUrl, taskView } from '../domain/task-view.ts';
import { unreachable } from '../domain/unreachable.ts';
import type { Admission, Submission } from '../operations/admission.ts';
import { admit } from '../operations/admit.ts';
import type { AdmitDeps } from '../operations/deps.ts';
import { json, problemAnswer, retryAfterSeconds } from './answer.ts';
import { header } from './header.ts';
import type { Route } from './http-handler.ts';
import { ProblemError, reducedCapacity } from './problem.ts';
import { queueView } from './queue-view.ts';
import { rateHeaders } from './rate-headers.ts';
import { rateLimited, tooCostly } from './rate-refusal.ts';
import { paused, refusal, tooLate } from './refusal.ts';
import { bodyBytes, clientAddress, idempotencyKey, tenantOf } from './request.ts';
import { bodyKind, readJsonSubmission, readMultipartSubmission } from './submission.ts';
import { uploadRefusal } from './upload-refusal.ts';

/** A JSON body up to this size is read before the pool is looked at: that costs nothing and finds the duplicate of a full pool. */
const smallBodyBytes = 65_536;
/** Suggested time between two looks at an open task. */
export const pollAfterMs = 1_000;

/** POST /v1/{group}/{name}/tasks. */
export function admitRoute(deps: AdmitDeps, baseUrl: string): Route {
  return async (event) => {
    const task = taskOf(deps, event);
    const key = idempotencyKey(event);
    const kind = bodyKind(header(event, 'content-type'));
    const bytes = bodyBytes(event);
    const reading = { task, trustedOrigins: deps.weir.callbacks.trustedOrigins };
    const read = (): Promise<Submission> =>
      kind.kind === 'json'
        ? readJsonSubmission(bytes, reading)
        : readMultipartSubmission(bytes, kind.contentType, reading);
    const small = kind.kind === 'json' && bytes.length <= smallBodyBytes;
    const submission = small ? ({ kind: 'read', content: await read() } as const) : ({ kind: 'unread', read } as const);
    const asker = { tenant: tenantOf(event), ip: clientAddress(event) };
    const admission = await admit(deps, { ...asker, task, idempotencyKey: key, submission });
    return admissionAnswer(baseUrl, admission);
  };
}

function taskOf({ weir }: Pick<AdmitDeps, 'weir'>, { pathParameters }: APIGatewayProxyEvent): Task {
  const api = `${pathParameters?.group}/${pathParameters?.name}`;
  const task = Object.hasOwn(weir.tasks, api) ? weir.tasks[api] : undefined;
  if (task !== undefined) return task;
  throw new ProblemError({
    status: 404,
    code: 'unknown_api',
    title: 'There is no such api',
    detail: `Expected one of ${Object.keys(weir.tasks).join(', ')}, got ${JSON.stringify(api.slice(0, 100))}.`,
  });
}

/** What whoever posted hears of the decision. */
export function admissionAnswer(baseUrl: string, admission: Admission): APIGatewayProxyResult {
  switch (admission.kind) {
    case 'admitted': {
      const { record, limitsVersion, tiers, rates, expectation } = admission;
      const decision = { kind: 'admitted', limitsVersion, tiers, ...(rates.length > 0 && { rates }) };
      return json(
        202,
        { ...taskView(record, baseUrl, 'miss'), ...(expectation && { queue: queueView(expectation) }), decision },
        { ...openHeaders(statusUrl(record, baseUrl)), ...rateHeaders(rates) },
      );
    }
    case 'joined':
      return json(
        202,
        taskView(admission.record, baseUrl, 'joined'),
        openHeaders(statusUrl(admission.record, baseUrl)),
      );
    case 'reused':
      return json(200, taskView(admission.record, baseUrl, 'reused'), {
        Location: statusUrl(admission.record, baseUrl),
      });
    case 'rejected':
      return problemAnswer(refusal(admission));
    case 'rate_limited':
      return problemAnswer(rateLimited(admission));
    case 'too_costly':
      return problemAnswer(tooCostly(admission));
    case 'too_late':
      return problemAnswer(tooLate(admission));
    case 'paused':
      return problemAnswer(paused(admission));
    case 'never':
      return problemAnswer({
        status: 422,
        code: 'never_admissible',
        title: 'No limit could ever hold this task',
        detail: `It needs ${admission.permits} slots of its ${admission.tier}, whose limit is ${admission.limit}.`,
        members: { tier: admission.tier, permits: admission.permits, limit: admission.limit },
      });
    case 'unfit':
    case 'unknown_upload':
    case 'upload_pending':
    case 'upload_expired':
      return problemAnswer(uploadRefusal(admission));
    case 'creating':
      return problemAnswer({
        status: 409,
        code: 'task_creating',
        title: 'The same task is being created',
        detail: 'An identical request is creating this task at the moment; ask again to get its id.',
        retryAfterMs: 1_000,
      });
    case 'key_reused':
      return problemAnswer({
        status: 422,
        code: 'key_reused',
        title: 'The Idempotency-Key was used for another request',
        detail: 'Expected the same api, input and files as with the first use of this key.',
      });
    case 'unavailable':
      return problemAnswer({
        status: 503,
        code: 'unavailable',
        type: reducedCapacity,
        title: 'No decision can be made at the moment',
        detail:
          admission.reason === 'rebuilding'
            ? 'What is in the system is being counted again after a loss of data; nothing is admitted until that is done.'
            : 'A store that is needed to decide does not respond. Should the task have been admitted all the same, posting it again joins it.',
        retryAfterMs: admission.reason === 'rebuilding' ? 15_000 : 2_000,
      });
    default:
      return unreachable(admission);
  }
}

function openHeaders(location: string) {
  return { Location: location, 'Retry-After': retryAfterSeconds(pollAfterMs) };
}
