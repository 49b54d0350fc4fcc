import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { taskView } from '../domain/task-view.ts';
import { unreachable } from '../domain/unreachable.ts';
import { cancel } from '../operations/cancel.ts';
import { json } from './answer.ts';
import type { ControlDeps } from './control-route.ts';
import { ProblemError } from './problem.ts';
import { taskIdOf, tenantOf, unknownTask } from './request.ts';

/** DELETE /v1/tasks/{id}: 200 where the task is cancelled, now or before; 409 where it ended otherwise first. */
export async function cancelRoute(
  deps: ControlDeps,
  baseUrl: string,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> {
  const id = taskIdOf(event);
  const cancelled = await cancel(deps, { tenant: tenantOf(event), id });
  switch (cancelled.kind) {
    case 'cancelled':
      return json(200, taskView(cancelled.record, baseUrl), { ETag: `"${cancelled.record.revision}"` });
    case 'finished': {
      const { status } = cancelled.record;
      throw new ProblemError({
        status: 409,
        code: 'already_finished',
        title: 'The task has ended already',
        detail: `It ${status} before the cancel came, and stays so.`,
        members: { state: status, task: taskView(cancelled.record, baseUrl) },
      });
    }
    case 'absent':
      throw unknownTask(id);
    default:
      return unreachable(cancelled);
  }
}
