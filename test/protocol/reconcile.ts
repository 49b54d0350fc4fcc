import { ask, insist, type Me, type Program, sleep } from './actor.ts';
import { resume, sendCounted } from './api.ts';
import * as dynamo from './dynamo.ts';
import { rebuild } from './rebuild.ts';
import * as redis from './redis.ts';
import { writeLimits } from './redis-rebuild.ts';
import { send } from './sqs.ts';
import { most, times } from './times.ts';
import * as write from './transitions.ts';
import { expire } from './worker.ts';
import { isTerminal, type Task } from './world.ts';

/** One run: "due records first, then leases". Runs may overlap; each step is conditional. */
export function* reconcile(me: Me): Program {
  const reply = yield* ask(redis.readEpoch, {});
  // "Redis unreachable or without an epoch: only send."
  const healthy = (reply.kind === 'epoch' && reply.epoch !== 0) || !me.holds('onlySendWithoutEpoch');
  const { ids } = yield* insist(dynamo.due, { now: me.now });
  for (const id of ids) yield* mend(me, id, healthy);
  if (reply.kind === 'epoch' && reply.epoch === 0) return yield* rebuild(me);
  if (!healthy) return;
  yield* limits(me);
  yield* leases(me);
}

function* mend(me: Me, id: string, healthy: boolean): Program {
  const { task } = yield* insist(dynamo.read, { id });
  if (task === undefined || task.dueAt > me.now) return;
  if (isTerminal(task)) {
    if (task.holder !== '' && task.dueAt + times.skew < me.now) yield* ask(write.forgetHolder, { id });
    return;
  }
  if (task.status === 'queued') {
    // "queued past deadline → expired · queued and due → send"
    if (me.now > task.deadline + times.skew && healthy) yield* expire(me, task, '');
    else if (me.holds('reconcileSendsDue')) yield* sendAgain(me, task);
    return;
  }
  if (!healthy) return;
  if (task.status === 'running') yield* mendRunning(me, task);
  // "waiting past deadline → resumed as denied"
  else if (me.now > task.deadline + times.skew && me.holds('approvalTimesOut')) {
    yield* resume(me, { id, approval: task.approval });
  }
}

/** "sends + 1 is written before sending." */
function* sendAgain(me: Me, task: Task): Program {
  if (!me.holds('sendsCountedFirst')) {
    yield* ask(send, { task: task.id, number: task.sends + 1 });
    return void (yield* ask(write.countSend, task));
  }
  const counted = yield* ask(write.countSend, task);
  if (counted.kind === 'written') yield* sendCounted(me, task.id, counted.task.sends);
}

/** "running whose holder has no live slot → queued again, or failed when its budget is spent" */
function* mendRunning(me: Me, task: Task): Program {
  const { id, key, holder, attempt } = task;
  const own = { id, nonce: holder, attempt };
  const lease = yield* ask(redis.alive, { id, nonce: holder });
  if (lease.kind === 'unknown' || lease.kind === 'rebuilding') return;
  if (lease.kind === 'alive' && me.holds('requeueChecksSlot')) {
    return void (yield* ask(write.postpone, { ...own, until: lease.until }));
  }
  if (task.lost + 1 > most.lostLeases) {
    const written = yield* ask(write.giveUp, { ...own, now: me.now });
    if (written.kind !== 'written') return;
    return void (yield* ask(redis.release, { id, key, nonce: holder, ended: true, reusable: false }));
  }
  const runAt = me.now;
  let kept = true;
  if (me.holds('keepBeforeRequeue')) {
    const reply = yield* ask(redis.keep, { id, until: runAt + times.startWindow });
    if (reply.kind === 'unknown') return;
    kept = reply.kind === 'kept';
  }
  const written = yield* ask(write.requeue, { ...own, kept, why: 'lost', runAt });
  if (written.kind !== 'written') return;
  yield* ask(redis.release, { id, key, nonce: holder, ended: false, reusable: false });
  yield* sendAgain(me, written.task);
}

/** A change of limits that crashed between DynamoDB and Redis. */
function* limits(me: Me): Program {
  if (!me.holds('reconcileWritesLimits')) return;
  const settings = yield* insist(dynamo.readSettings, {});
  yield* ask(writeLimits, { limits: settings.limits });
}

/**
 * "A seat is dropped only when its record, read by id consistently, is terminal, or is absent and the id was older than the create deadline plus
 * orphanMs when it was read." An id carries when it was made.
 */
function* leases(me: Me): Program {
  const held = yield* ask(redis.leases, {});
  if (held.kind === 'unknown') return;
  const shown = me.holds('seatDropReadsRecord') ? undefined : (yield* insist(dynamo.open, {})).ids;
  for (const { id, madeAt } of held.ids) {
    const askedAt = me.now;
    const { task } = yield* insist(dynamo.read, { id });
    // A machine may stand still after the read: the age it had then is what counts.
    if (!me.holds('orphanAgeWhenRead')) yield* sleep(me.now);
    const readAt = me.holds('orphanAgeWhenRead') ? askedAt : me.now;
    const old = readAt - madeAt > times.createDeadline + times.skew + times.orphan || !me.holds('absentSeatWaits');
    const over = task === undefined ? old : isTerminal(task);
    const drop = shown === undefined ? over : !shown.includes(id);
    if (drop)
      yield* ask(redis.release, {
        id,
        key: task?.key ?? '',
        nonce: '',
        ended: true,
        reusable: task?.status === 'succeeded',
      });
  }
}
