import type { TaskId } from '../domain/task-id.ts';
import { judge } from '../domain/task-record.ts';
import { second } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import type { DedupItem } from '../ports.ts';
import type { Asking, Named } from './admission.ts';
import type { Deps } from './deps.ts';

const creationWaitMs = 2 * second;
const pollMs = 50;

type Reading = Pick<Deps, 'records' | 'clock'>;

/** Undefined where the named task may be replaced: it ended without a reusable result, or its record is gone. */
export async function judgeNamed(
  { records, clock }: Reading,
  asked: Pick<Asking, 'tenant' | 'idempotencyKey' | 'fingerprint'>,
  named: DedupItem,
): Promise<Named | undefined> {
  const record = await records.read({ tenant: asked.tenant, id: named.taskId });
  if (record === undefined) return undefined;
  if (asked.idempotencyKey !== undefined && named.fingerprint !== asked.fingerprint) return { kind: 'key_reused' };
  const judgement = judge(record, clock.now());
  switch (judgement.kind) {
    case 'joined':
      return { kind: 'joined', record };
    case 'reused':
      return { kind: 'reused', record, until: judgement.until };
    case 'replaceable':
      return undefined;
    default:
      return unreachable(judgement);
  }
}

/**
 * Polls the dedup item while another request creates its task `locked`: never that id itself, because that task may never exist. It may also be created
 * and end between two looks: then its place is free.
 */
export async function awaitCreation(
  deps: Reading,
  asked: Asking,
  locked: TaskId,
): Promise<Named | { readonly kind: 'replace'; readonly taskId: TaskId } | undefined> {
  const until = deps.clock.now() + creationWaitMs;
  do {
    const named = await deps.records.readDedup(asked.dedupKey);
    const answer = named && (await judgeNamed(deps, asked, named));
    if (answer !== undefined) return answer;
    if (named?.taskId === locked) return { kind: 'replace', taskId: locked };
    await deps.clock.sleep(pollMs);
  } while (deps.clock.now() < until);
  return undefined;
}
