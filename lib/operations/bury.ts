import { mostBurials } from '../domain/protocol.ts';
import { endOf } from '../domain/task-record.ts';
import { addMs } from '../domain/time.ts';
import type { TaskMessage, Unreadable } from '../ports.ts';
import { afterEnd, type EndDeps } from './end.ts';

export type Burial = { readonly kind: 'due' | 'failed' | 'unchanged' };

/**
 * Takes a message that SQS gave up. A queued task is due again, so that reconcile sends a new message; buried for the third time it fails, a dead letter.
 * One that runs or has ended needs no message, and neither does one that was sent a newer one; the same message twice counts once.
 */
export async function bury(deps: EndDeps, message: TaskMessage): Promise<Burial> {
  const burial = await decide(deps, message);
  deps.metrics.count('burials_total', 1, { outcome: burial.kind });
  deps.log.warn('buried', { taskId: message.id, outcome: burial.kind });
  return burial;
}

async function decide(deps: EndDeps, message: TaskMessage): Promise<Burial> {
  const record = await deps.records.read(message);
  if (record?.status !== 'queued') return { kind: 'unchanged' };
  if (message.send < record.sends || message.send === record.buriedSend) return { kind: 'unchanged' };
  const now = deps.clock.now();
  if (record.burials + 1 < mostBurials) {
    const written = await deps.records.bury(record, message.send, now);
    return { kind: written.kind === 'written' ? 'due' : 'unchanged' };
  }
  const error = { code: 'buried', message: `its messages were given up ${mostBurials} times without an attempt` };
  const written = await deps.records.giveUp(record, error, endOf(record, now));
  if (written.kind === 'refused') return { kind: 'unchanged' };
  await afterEnd(deps, written.record);
  return { kind: 'failed' };
}

/** Keeps a message whose body nobody can read, as long as a task's record, so that an operator can see what was sent. */
export async function buryUnreadable(
  deps: Pick<EndDeps, 'records' | 'clock' | 'weir' | 'metrics' | 'log'>,
  message: Pick<Unreadable, 'id' | 'body' | 'queue'>,
): Promise<void> {
  const finishedAt = deps.clock.now();
  const expiresAt = addMs(finishedAt, deps.weir.times.keepMs);
  await deps.records.keepUnreadable({ ...message, finishedAt, expiresAt });
  deps.metrics.count('burials_total', 1, { outcome: 'unreadable' });
  deps.log.error('buried a message that cannot be read', { messageId: message.id, queue: message.queue });
}
