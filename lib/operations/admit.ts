import { dedupKey, eventKey, fingerprint, whatMatters } from '../domain/fingerprint.ts';
import type { AdmitReply, Full } from '../domain/gate-replies.ts';
import type { RateUse } from '../domain/rates.ts';
import type { TaskId } from '../domain/task-id.ts';
import { tiersOf } from '../domain/tiers.ts';
import { type EpochMs, second } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { Unavailable } from '../ports.ts';
import type { Admission, AdmitRequest, Asking, Named, Submission } from './admission.ts';
import { countRates } from './count-rates.ts';
import { type Claimed, create } from './create.ts';
import type { AdmitDeps, Deps } from './deps.ts';
import { awaitCreation, judgeNamed } from './duplicate.ts';
import { beginEpoch } from './epoch.ts';
import { ratesOf } from './rate-charges.ts';
import { undoAdmission } from './release.ts';
import { findUploaded } from './uploaded-files.ts';

type Waiting = { readonly kind: 'replace'; readonly taskId: TaskId } | { readonly kind: 'rebuilding' };

/** Polls within `epochWaitMs`, and a few tasks in turn that ended and may be replaced. */
const mostRounds = 20;
const pollMs = 100;
/** No tier holds more. */
const mostInSystem = 1_000_000;
/** Of every post, and so of its fingerprint and its `Idempotency-Key`'s scope. */
const method = 'POST';
/** How long a request waits for another caller to begin a new system's epoch: refused within two seconds, whatever happens. */
const epochWaitMs = second;
/** A post is answered within this time of its decision's beginning when Redis does not answer. */
const answerMs = 1.5 * second;
/** For a refused client while Redis does not tell its place among the refused. */
const blindRetryMs = 5 * second;

/** Decides one post: peek, fingerprint, admit, create, send. A refusal leaves nothing anywhere. docs/protocol.md "Posting" has the reasons. */
export async function admit(deps: AdmitDeps, request: AdmitRequest): Promise<Admission> {
  try {
    const { submission } = request;
    const isWhole = submission.kind === 'read' && submission.content.uploads === undefined;
    const early = isWhole ? asking(request, submission.content) : undefined;
    const refused = await peek(deps, request, early);
    if (refused !== undefined) return refused;
    if (early !== undefined) return await decide(deps, early);
    const content = submission.kind === 'read' ? submission.content : await submission.read();
    const found = await findUploaded(deps, request.tenant, request.task, content.uploads ?? []);
    if (found.kind !== 'found') return found;
    return await decide(deps, asking(request, { ...content, files: [...content.files, ...found.files] }));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    deps.log.warn('admission unavailable', { away: error.service, reason: error.message });
    return { kind: 'unavailable', reason: error.service };
  }
}

function asking(request: AdmitRequest, content: Submission): Asking {
  const asked = { tenant: request.tenant, method, api: request.task.api };
  const print = fingerprint({
    ...asked,
    input: whatMatters(content.input, request.task.dedup.fields),
    files: content.files,
  });
  const { event, idempotencyKey } = request;
  const key = event === undefined ? dedupKey(asked, print, idempotencyKey) : eventKey(asked, event);
  return { ...request, content, fingerprint: print, dedupKey: key };
}

/** A refusal that is already certain; undefined where `admit` must decide. */
async function peek(deps: Deps, request: AdmitRequest, early: Asking | undefined): Promise<Admission | undefined> {
  const asked = { tenant: request.tenant, method, api: request.task.api };
  const byKey = request.idempotencyKey === undefined ? undefined : dedupKey(asked, '', request.idempotencyKey);
  const key = early?.dedupKey ?? byKey;
  const reply = await deps.gate.peek({ dedupKey: key, tiers: tiersOf({ ...request, ...request.task }) });
  if (reply.kind !== 'full' && reply.kind !== 'paused') return undefined;
  const refuse = async (): Promise<Admission> =>
    reply.kind === 'paused' ? { kind: 'paused', pool: request.task.pool } : reject(deps, request, reply);
  if (early !== undefined) return (await answerOf(deps, early)) ?? refuse();
  const known = key !== undefined && (await deps.records.readDedup(key)) !== undefined;
  return known ? undefined : refuse();
}

async function decide(deps: AdmitDeps, asked: Asking): Promise<Admission> {
  const { tenant, task } = asked;
  const rates = await ratesOf(deps, asked);
  const claim = { tenant, id: deps.newId(), tiers: tiersOf({ ...asked, ...task }), permits: task.permits, rates };
  const begunAt = deps.clock.now();
  const mostAhead = await mostTasksAhead(deps, asked, claim);
  let replaces: TaskId | undefined;
  let giveUpAt = Number.POSITIVE_INFINITY;
  for (let round = 1; round <= mostRounds; round++) {
    const next = await ask(deps, asked, claim, { replaces, mostAhead, begunAt });
    if (next.kind === 'replace') replaces = next.taskId;
    else if (next.kind !== 'rebuilding') return next;
    else if (deps.clock.now() >= giveUpAt) return { kind: 'unavailable', reason: 'rebuilding' };
    else {
      const epoch = await beginEpoch(deps);
      giveUpAt = Math.min(giveUpAt, deps.clock.now() + epochWaitMs);
      // Another caller may be beginning it at this moment, in DynamoDB already and in Redis not yet.
      if (epoch.kind !== 'begun') await deps.clock.sleep(pollMs);
    }
  }
  return { kind: 'creating' };
}

async function ask(
  deps: AdmitDeps,
  asked: Asking,
  claim: Claimed,
  { replaces, mostAhead, begunAt }: { replaces: TaskId | undefined; mostAhead: number | undefined; begunAt: EpochMs },
): Promise<Admission | Waiting> {
  const { task, dedupKey: key, fingerprint: print } = asked;
  const input = { ...claim, replaces, mostAhead, dedupKey: key, fingerprint: print };
  const reply = await deps.gate.admit(input).catch(async (error) => {
    // The script may have run: give back what it may have taken, as far as Redis answers in what is left of the two seconds.
    const release = undoAdmission(deps, claim, key).catch(() => undefined);
    await Promise.race([release, deps.clock.sleep(Math.max(0, begunAt + answerMs - deps.clock.now()))]);
    throw error;
  });
  switch (reply.kind) {
    case 'admitted':
      countRates(deps.metrics, task.api, reply.rates);
      return create(deps, asked, { claim, reply, replaces, begunAt });
    case 'duplicate':
      if (reply.creating) return (await awaitCreation(deps, asked, reply.taskId)) ?? { kind: 'creating' };
      return (await judgeNamed(deps, asked, reply)) ?? { kind: 'replace', taskId: reply.taskId };
    case 'rejected':
      return (await answerOf(deps, asked)) ?? reject(deps, asked, reply);
    case 'rate_limited': {
      const known = await answerOf(deps, asked);
      if (known === undefined) countRates(deps.metrics, task.api, reply.rates, reply.short);
      return known ?? reply;
    }
    case 'too_costly':
      return (await answerOf(deps, asked)) ?? reply;
    case 'paused':
      return (await answerOf(deps, asked)) ?? { kind: 'paused', pool: task.pool };
    case 'behind':
      return (await answerOf(deps, asked)) ?? tooLate(deps, asked, reply);
    case 'never': {
      const tier = claim.tiers[reply.tier]?.tier ?? 'pool';
      return { kind: 'never', tier, limit: reply.limit, permits: task.permits };
    }
    case 'rebuilding':
      return reply;
    case 'stale':
      return { kind: 'unavailable', reason: 'redis' };
    default:
      return unreachable(reply);
  }
}

/** Before a refusal for capacity: the task this request's dedup key names in DynamoDB, where it answers the request. */
async function answerOf(deps: Deps, asked: Asking): Promise<Named | undefined> {
  const named = await deps.records.readDedup(asked.dedupKey);
  return named && judgeNamed(deps, asked, named);
}

async function reject(
  deps: Deps,
  { tenant, ip, task }: AdmitRequest,
  full: Full & { rates?: readonly RateUse[] },
): Promise<Admission> {
  const short = full.tiers[full.short];
  if (short === undefined) throw new Error(`expected tier ${full.short} among ${full.tiers.length}`);
  const retryAfterMs = await deps.outlook
    .retryAfterMs(
      task,
      short,
      full.tiers.find(({ tier }) => tier === 'pool'),
      `${tenant}|${ip}|${deps.newNonce()}`,
    )
    .catch((error: unknown) => {
      if (error instanceof Unavailable) return blindRetryMs;
      throw error;
    });
  return { rates: [], ...full, kind: 'rejected', retryAfterMs };
}

async function tooLate(deps: Deps, asked: Asking, reply: Extract<AdmitReply, { kind: 'behind' }>): Promise<Admission> {
  const { now, limitsVersion, tiers, ahead } = reply;
  const expectation = await deps.outlook.expect(asked.task, tiers, ahead);
  return { kind: 'too_late', now, limitsVersion, tiers, expectation, maxWaitMs: asked.content.options.maxWaitMs ?? 0 };
}

async function mostTasksAhead(deps: Deps, { task, content }: Asking, { tiers }: Claimed): Promise<number | undefined> {
  const { maxWaitMs } = content.options;
  if (maxWaitMs === undefined) return undefined;
  const most = await deps.outlook.mostAhead(task, tiers, maxWaitMs);
  return most > mostInSystem ? undefined : most;
}
