import { createHash } from 'node:crypto';
import { canonicalJson, whatMatters } from '../domain/fingerprint.ts';
import type { AdmitReply } from '../domain/gate-replies.ts';
import { createDeadlineMs } from '../domain/protocol.ts';
import type { RateAsk } from '../domain/rates.ts';
import type { TaskId } from '../domain/task-id.ts';
import { justAdmitted, type StoredFile, type TaskRecord } from '../domain/task-record.ts';
import type { TierUse } from '../domain/tiers.ts';
import { addMs, type EpochMs } from '../domain/time.ts';
import { type Claim, Unavailable } from '../ports.ts';
import type { Admission, Asking } from './admission.ts';
import type { AdmitDeps, Deps } from './deps.ts';
import { judgeNamed } from './duplicate.ts';
import { KeptFiles } from './keep-files.ts';
import type { Expectation } from './outlook.ts';
import { chargesOf } from './rate-charges.ts';
import { undoAdmission } from './release.ts';

/** Once for the task it takes the place of, once more for the one that took it first and has ended since. */
const mostRounds = 2;

type Admitted = Extract<AdmitReply, { kind: 'admitted' }>;
/** What admission is asked for, and gives back where no task comes of it. */
export type Claimed = Claim & { readonly rates: readonly RateAsk[] };
type Seated = {
  readonly claim: Claimed;
  readonly reply: Admitted;
  readonly replaces: TaskId | undefined;
  /** Local clock, when the id was made. */
  readonly begunAt: EpochMs;
};

/**
 * Makes the record of a request that has its seats, then sends its first message beside turning the lock into a pointer. DynamoDB's condition on the
 * dedup item decides: when another task holds it, the seats go back and that task answers.
 */
export async function create(deps: AdmitDeps, asked: Asking, seated: Seated): Promise<Admission> {
  const { claim, reply } = seated;
  const { id } = claim;
  const files = new KeptFiles(deps, id, asked.content.files, reply.now);
  const giveBack = async () => {
    await undoAdmission(deps, claim, asked.dedupKey);
    await files.remove();
  };
  try {
    const refused = await files.keep();
    if (refused !== undefined) {
      await giveBack();
      return refused;
    }
  } catch (error) {
    await giveBack().catch(() => undefined);
    throw error;
  }
  const expectation = await expectationOf(deps, asked, reply.tiers);
  const record = newRecord(deps, asked, seated, files.stored, expectation);
  const deadline = addMs(seated.begunAt, createDeadlineMs);
  let seen = seated.replaces;
  for (let round = 1; round <= mostRounds; round++) {
    if (deps.clock.now() >= deadline) break;
    const created = await deps.records.create(record, { seen, deadline }).catch(async (error: unknown) => {
      // After an unknown outcome nothing is given back: a late write must find its seat.
      if (!(error instanceof Unavailable)) await giveBack().catch(() => undefined);
      throw error;
    });
    if (created.kind === 'created') {
      await sendFirst(deps, record);
      return {
        kind: 'admitted',
        record,
        limitsVersion: reply.limitsVersion,
        tiers: reply.tiers,
        rates: reply.rates,
        expectation,
      };
    }
    const answer = await judgeNamed(deps, asked, created);
    if (answer !== undefined) {
      await giveBack();
      return answer;
    }
    seen = created.taskId;
  }
  await giveBack();
  return { kind: 'creating' };
}

function newRecord(
  deps: Deps,
  asked: Asking,
  { claim, reply }: Seated,
  files: readonly StoredFile[],
  expectation: Expectation | undefined,
): TaskRecord {
  const charges = chargesOf(deps, claim.rates, reply);
  const measured = expectation?.eta.kind === 'measured' ? expectation.eta : undefined;
  return {
    tenant: claim.tenant,
    id: claim.id,
    api: asked.task.api,
    pool: asked.task.pool,
    ...justAdmitted(reply),
    ...(measured === undefined ? {} : { expectedBy: addMs(reply.now, measured.p90) }),
    permits: claim.permits,
    tiers: claim.tiers,
    ...(charges.length === 0 ? {} : { charges }),
    input: canonicalJson(asked.content.input),
    inputDigest: createHash('sha256')
      .update(canonicalJson(whatMatters(asked.content.input, asked.task.dedup.fields)))
      .digest('hex'),
    files,
    dedupKey: asked.dedupKey,
    fingerprint: asked.fingerprint,
    reuseMs: asked.task.dedup.windowMs,
    expiresAt: addMs(reply.now, deps.weir.times.keepMs),
    callbackUrl: asked.content.options.callbackUrl,
  };
}

/** A nicety: without it the task is as welcome. */
async function expectationOf(deps: Deps, asked: Asking, tiers: readonly TierUse[]): Promise<Expectation | undefined> {
  try {
    return await deps.outlook.expect(asked.task, tiers);
  } catch (error) {
    if (error instanceof Unavailable) return undefined;
    throw error;
  }
}

/** Neither step can undo the acceptance: the record is durable and due, so reconcile sends what was not sent. */
export async function sendFirst(
  deps: Pick<Deps, 'weir' | 'gate' | 'records' | 'messages' | 'log'>,
  record: TaskRecord,
): Promise<void> {
  const send = async () => {
    await deps.messages.send(record.pool, { tenant: record.tenant, id: record.id, send: 1 }, messageGroup(record));
    await deps.records.markSent(record, 1, addMs(record.createdAt, deps.weir.times.resendAgeMs));
  };
  const steps = { confirm: deps.gate.confirm(record), send: send() };
  const ends = Object.entries(steps).map(([step, outcome]) =>
    outcome.catch((error: unknown) => {
      deps.log.warn('accepted, but a step failed', { step, taskId: record.id, reason: String(error) });
    }),
  );
  await Promise.all(ends);
}

/** One client's burst does not hold up the others: SQS serves message groups of a standard queue fairly. */
export function messageGroup({ tenant, tiers }: Pick<TaskRecord, 'tenant' | 'tiers'>): string {
  const ip = tiers.find(({ tier }) => tier === 'ip')?.name ?? '';
  return createHash('sha256').update(`${tenant}|${ip}`).digest('hex').slice(0, 32);
}
