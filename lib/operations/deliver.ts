import { mostDeliveryTries, nextTry } from '../domain/delivery-schedule.ts';
import { skewMs } from '../domain/protocol.ts';
import { type Delivery, mayStillRun, type TaskRecord } from '../domain/task-record.ts';
import { addMs, type EpochMs } from '../domain/time.ts';
import { unreachable } from '../domain/unreachable.ts';
import { webhookOf } from '../domain/webhook.ts';
import type { Posted, Signing, TaskKey, Webhooks } from '../ports.ts';
import type { Deps } from './deps.ts';
import type { Worked } from './work.ts';

export type DeliverDeps = Pick<Deps, 'weir' | 'records' | 'clock' | 'metrics'> &
  Pick<Signing, 'webhookSecret'> & {
    readonly webhooks: Webhooks;
    /** Of the API, for the URL of the task's state. */
    readonly baseUrl: string;
  };

/** The receiver wants no more of it: no try is made again. */
const gone = 410;

/**
 * Tells a callback of its task's end, once, and writes what came of it. The message is a hint: the record says whether there is something to tell, and
 * reconcile sends another message where one was lost. A try whose outcome was not written is made again, under the same `webhook-id`.
 */
export async function deliver(deps: DeliverDeps, message: TaskKey): Promise<Worked> {
  const record = await deps.records.read(message);
  const seen = record?.delivery;
  if (record === undefined || seen === undefined || record.callbackUrl === undefined) {
    return { kind: 'ack', because: 'nothing to deliver' };
  }
  if (seen.status !== 'pending') return { kind: 'ack', because: seen.status };
  const now = deps.clock.now();
  const earlyMs = (seen.nextAt ?? now) - now;
  if (earlyMs > skewMs) return { kind: 'ack', because: 'not due yet' };
  if (earlyMs > 0) return { kind: 'defer', because: 'not due yet', afterMs: earlyMs };

  const secret = await deps.webhookSecret(record.tenant);
  const request = webhookOf(record, { secret, baseUrl: deps.baseUrl, at: deps.clock.now() });
  const posted = await deps.webhooks.post(record.callbackUrl, request);
  return write(deps, record, seen, afterTry(seen, posted, deps.clock.now()));
}

/** A try is over: the delivery as it stands now. */
function afterTry(seen: Delivery, posted: Posted, lastAt: EpochMs): Delivery {
  const attempts = seen.attempts + 1;
  const failed = (problem: string): Delivery => ({ status: 'failed', attempts, lastAt, problem });
  const again = (problem: string, retryAfterMs?: number): Delivery => {
    const next = nextTry(attempts, retryAfterMs, Math.random());
    if (next.kind === 'over') return failed(problem);
    return { status: 'pending', attempts, nextAt: addMs(lastAt, next.afterMs), lastAt, problem };
  };
  switch (posted.kind) {
    case 'answered': {
      const { status, retryAfterMs } = posted;
      if (status >= 200 && status < 300) return { status: 'delivered', attempts, lastAt };
      const problem = `answered ${status}`;
      return status === gone ? failed(problem) : again(problem, retryAfterMs);
    }
    case 'refused':
      return failed(posted.problem);
    case 'failed':
      return again(posted.problem);
    default:
      return unreachable(posted);
  }
}

/** From the delivery that was seen: of two tries at once only one writes, and the other's message is no more needed. */
async function write(deps: DeliverDeps, record: TaskRecord, seen: Delivery, delivery: Delivery): Promise<Worked> {
  const { nextAt } = delivery;
  const dueAt = nextDue(record, nextAt, deps.weir.times.resendAgeMs);
  const written = await deps.records.deliver(record, seen, delivery, dueAt);
  if (written.kind === 'refused') return { kind: 'ack', because: 'another try was written' };
  deps.metrics.count('deliveries_total', 1, { outcome: delivery.status === 'pending' ? 'again' : delivery.status });
  if (nextAt === undefined) return { kind: 'ack', because: delivery.status };
  const afterMs = Math.max(0, nextAt - deps.clock.now());
  return { kind: 'defer', because: `try ${delivery.attempts} of ${mostDeliveryTries}: ${delivery.problem}`, afterMs };
}

/** A cancelled task whose handler may go on is looked at when its lease is over, whatever becomes of its delivery. */
function nextDue(record: TaskRecord, nextAt: EpochMs | undefined, resendAgeMs: number) {
  if (mayStillRun(record)) return 'keep';
  return nextAt === undefined ? 'close' : addMs(nextAt, resendAgeMs);
}
