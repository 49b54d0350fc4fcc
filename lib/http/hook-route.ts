import { unreachable } from '../domain/unreachable.ts';
import type { Hook } from '../hook-schema.ts';
import { admit } from '../operations/admit.ts';
import type { RateDeps } from '../operations/check-rates.ts';
import type { AdmitDeps } from '../operations/deps.ts';
import type { Signing } from '../ports.ts';
import { admissionAnswer } from './admit-route.ts';
import { empty } from './answer.ts';
import { requireCredential } from './hook-credential.ts';
import { hookBody, readEvent } from './hook-event.ts';
import { hookOf } from './hook-of.ts';
import type { Route } from './http-handler.ts';
import { ProblemError } from './problem.ts';
import { rateGuard } from './rate-guard.ts';
import { clientAddress, tenantOf } from './request.ts';
import { readInput } from './submission.ts';

export type HookDeps = AdmitDeps & RateDeps & Pick<Signing, 'hookSecret'>;

/**
 * POST /v1/hooks/{source}: the event of another system asks for a task, as the configuration maps it, and joins the task of an earlier event with its key
 * while that is open. Who has no credential takes nothing of the source's rates, and nothing of a body is read that they refuse.
 */
export function hookRoute(deps: HookDeps, baseUrl: string): Route {
  const guarded = rateGuard(deps, 'hooks');
  return async (event) => {
    const hook = hookOf(deps, event.pathParameters?.source);
    await requireCredential(deps, hook, event);
    return guarded(takeEvent(deps, baseUrl, hook))(event);
  };
}

function takeEvent(deps: HookDeps, baseUrl: string, hook: Hook): Route {
  return async (event) => {
    const task = deps.weir.tasks[hook.api];
    if (task === undefined) throw new Error(`expected api ${hook.api} of hook ${hook.source}`);
    const read = readEvent(deps, hook, hookBody(event));
    switch (read.kind) {
      case 'ignored':
        return empty(204);
      case 'asks': {
        const content = await readInput(read.input, { task, trustedOrigins: deps.weir.callbacks.trustedOrigins });
        const admission = await admit(deps, {
          tenant: tenantOf(event),
          ip: clientAddress(event),
          // An event after the end is a new one: the last success does not answer it.
          task: { ...task, dedup: { ...task.dedup, windowMs: 0 } },
          event: { source: hook.source, key: read.key },
          submission: { kind: 'read', content },
        });
        if (admission.kind === 'creating') throw creating();
        return admissionAnswer(baseUrl, admission);
      }
      default:
        return unreachable(read);
    }
  };
}

/** Not the 409 of a post: senders repeat what answers 5xx, and nothing else. */
function creating(): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'task_creating',
    title: 'The task of this event is being created',
    detail: 'Another event with the same key is creating it at the moment; send this one again.',
    retryAfterMs: 1_000,
  });
}
