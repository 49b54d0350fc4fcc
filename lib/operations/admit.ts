import { dedupKey, fingerprint } from '../domain/fingerprint.ts';
import type { TaskId } from '../domain/task-id.ts';
import { tiersOf } from '../domain/tiers.ts';
import { unreachable } from '../domain/unreachable.ts';
import { Unavailable } from '../ports.ts';
import type { Admission, AdmitRequest, Asking, Named, Submission } from './admission.ts';
import { beginEpoch } from './begin-epoch.ts';
import { create } from './create.ts';
import type { Deps } from './deps.ts';
import { awaitCreation, judgeNamed } from './duplicate.ts';

type Waiting = { readonly kind: 'replace'; readonly taskId: TaskId } | { readonly kind: 'again' };

const mostRounds = 6;

/** Decides one post: peek, fingerprint, admit, create, send. A refusal leaves nothing anywhere. PROTOCOL.md "Posting" has the reasons. */
export async function admit(deps: Deps, request: AdmitRequest): Promise<Admission> {
  try {
    const early = typeof request.submission === 'function' ? undefined : asking(request, request.submission);
    const refused = await peek(deps, request, early);
    if (refused !== undefined) return refused;
    const late = async () => asking(request, await (request.submission as () => Promise<Submission>)());
    return await decide(deps, early ?? (await late()));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    deps.log.warn('admission unavailable', { service: error.service, reason: error.message });
    return { kind: 'unavailable', reason: error.service };
  }
}

function asking(request: AdmitRequest, content: Submission): Asking {
  const asked = { tenant: request.tenant, method: request.method, api: request.task.api };
  const print = fingerprint({ ...asked, input: content.input, files: content.files });
  return { ...request, content, fingerprint: print, dedupKey: dedupKey(asked, print, request.idempotencyKey) };
}

/** A refusal that is already certain; undefined where `admit` must decide. */
async function peek(deps: Deps, request: AdmitRequest, early: Asking | undefined): Promise<Admission | undefined> {
  const asked = { tenant: request.tenant, method: request.method, api: request.task.api };
  const byKey = request.idempotencyKey === undefined ? undefined : dedupKey(asked, '', request.idempotencyKey);
  const key = early?.dedupKey ?? byKey;
  const reply = await deps.gate.peek({ dedupKey: key, tiers: tiersOf({ ...request, ...request.task }) });
  if (reply.kind !== 'full') return undefined;
  if (early !== undefined) return (await answerOf(deps, early)) ?? { ...reply, kind: 'rejected' };
  const known = key !== undefined && (await deps.records.readDedup(key)) !== undefined;
  return known ? undefined : { ...reply, kind: 'rejected' };
}

async function decide(deps: Deps, asked: Asking): Promise<Admission> {
  const id = deps.newId();
  let replaces: TaskId | undefined;
  for (let round = 1; round <= mostRounds; round++) {
    const next = await ask(deps, asked, id, replaces);
    switch (next.kind) {
      case 'again':
        break;
      case 'replace':
        replaces = next.taskId;
        break;
      case 'rebuilding':
        if (round > 1) return { kind: 'unavailable', reason: 'rebuilding' };
        await beginEpoch(deps);
        break;
      default:
        return next;
    }
  }
  return { kind: 'creating' };
}

async function ask(
  deps: Deps,
  asked: Asking,
  id: TaskId,
  replaces: TaskId | undefined,
): Promise<Admission | Waiting | { kind: 'rebuilding' }> {
  const { task, tenant, dedupKey: key, fingerprint: print } = asked;
  const claim = { tenant, id, tiers: tiersOf({ ...asked, ...task }), permits: task.permits };
  const begunAt = deps.clock.now();
  const reply = await deps.gate
    .admit({ ...claim, dedupKey: key, fingerprint: print, replaces })
    .catch(async (error) => {
      // The script may have run: give back what it may have taken, as far as Redis answers.
      await deps.gate.release({ ...claim, dedupKey: key, ended: { pointerMs: 0 } }).catch(() => undefined);
      throw error;
    });
  switch (reply.kind) {
    case 'admitted':
      return create(deps, asked, { id, claim, reply, replaces, begunAt });
    case 'duplicate':
      if (reply.creating) return (await awaitCreation(deps, asked)) ?? { kind: 'creating' };
      return (await judgeNamed(deps, asked, reply)) ?? { kind: 'replace', taskId: reply.taskId };
    case 'rejected':
      return (await answerOf(deps, asked)) ?? reply;
    case 'never': {
      const tier = claim.tiers[reply.tier]?.tier ?? 'pool';
      return { kind: 'never', tier, limit: reply.limit, permits: task.permits };
    }
    case 'rebuilding':
      return reply;
    default:
      return unreachable(reply);
  }
}

/** Before a refusal for capacity: the task this request's dedup key names in DynamoDB, where it answers the request. */
async function answerOf(deps: Deps, asked: Asking): Promise<Named | undefined> {
  const named = await deps.records.readDedup(asked.dedupKey);
  return named && judgeNamed(deps, asked, named);
}
