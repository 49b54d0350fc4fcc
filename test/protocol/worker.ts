import { ask, insist, type Me, type Program } from './actor.ts';
import { attempt, type Delivery } from './attempt.ts';
import * as dynamo from './dynamo.ts';
import * as redis from './redis.ts';
import { hide, remove, removeDead } from './sqs.ts';
import { most, times } from './times.ts';
import * as write from './transitions.ts';
import { isTerminal, type Task } from './world.ts';

/** Working: takes one message to its end. A `return` without `ack` leaves the message to its visibility. */
export function* work(me: Me, delivery: Delivery): Program {
  const { message, task: id } = delivery;
  const ack = () => ask(remove, { name: message });
  // "First act: set the message's visibility to one lease. Read the record consistently."
  if (me.holds('hideFirst')) yield* ask(hide, { name: message, seconds: times.lease });
  const { task } = yield* insist(dynamo.read, { id });
  // "Terminal, absent, running, waiting, or not due yet → ack."
  if (task === undefined || task.status !== 'queued') return void (yield* ack());
  if (task.runAt > me.now + times.skew && me.holds('notDueIsAcked')) return void (yield* ack());
  if (me.now > task.deadline + times.skew) return yield* expire(me, task, message);

  const asked = { id, nonce: me.name, deadline: task.deadline, epoch: task.epoch };
  let got = yield* ask(redis.acquire, asked);
  // "It waits for a slot by asking again for up to 500 ms."
  if (got.kind === 'busy' || got.kind === 'unknown') got = yield* ask(redis.acquire, asked);
  if (got.kind === 'late') return yield* expire(me, task, message);
  if (got.kind !== 'acquired') return yield* defer(me, delivery, task);
  yield* begin(me, delivery, task, got);
}

/** "Queued past its deadline → expired, release with end, ack." */
export function* expire(me: Me, { id, key, deadline }: Task, message: string): Program {
  const written = yield* ask(write.expire, { id, seen: deadline, now: me.now });
  if (written.kind === 'unknown') return;
  if (written.kind === 'written') yield* ask(redis.release, { id, key, nonce: '', ended: true, reusable: false });
  if (message !== '') yield* ask(remove, { name: message });
}

/** "Held, busy, paused, rebuilding → defer; a message with an older send number is acked instead; at the last permitted receive set dueAt and ack." */
function* defer(me: Me, { message, send, receives }: Delivery, task: Task): Program {
  const old = send < task.sends && me.holds('oldSendIsAcked');
  if (!old && receives >= most.receives && me.holds('lastReceiveSetsDue'))
    yield* ask(write.setDue, { id: task.id, now: me.now });
  else if (!old) return void (yield* ask(hide, { name: message, seconds: times.deferral, deferred: receives }));
  yield* ask(remove, { name: message });
}

type Slots = { now: number; lapses: number; epoch: number };

function* begin(me: Me, delivery: Delivery, task: Task, slots: Slots): Program {
  const { id } = task;
  const nonce = me.name;
  const ack = () => ask(remove, { name: delivery.message });
  // "start: within 5 s of acquire."
  const until = me.holds('startWithinDeadline') ? me.now + times.startDeadline : undefined;
  const started = yield* ask(write.start, { id, nonce, seen: task.attempt, ...slots }, until);
  let current = started.kind === 'unknown' ? undefined : started.task;
  // "Unknown → read back by holder."
  if (started.kind === 'unknown') current = (yield* insist(dynamo.read, { id })).task;
  if (current?.status !== 'running' || current.holder !== nonce) {
    // "Refused → release own slots (with end if the record is terminal), ack." The pointer of a success stays.
    const ended = current !== undefined && isTerminal(current);
    yield* ask(redis.release, { id, key: task.key, nonce, ended, reusable: current?.status === 'succeeded' });
    if (started.kind !== 'unknown') yield* ack();
    return;
  }
  // "After start, one extend; anything but extended → no handler is run."
  let goodUntil = slots.lapses;
  const begunAt = me.now;
  if (me.holds('extendAfterStart')) {
    const extended = yield* ask(redis.extend, { id, nonce });
    if (extended.kind !== 'extended') return void (yield* ack());
    goodUntil = extended.until;
  }
  yield* attempt(me, delivery, current, { begunAt, goodUntil });
}

/** The dead-letter queue's consumer: "a queued one is set due again, and failed at its third burial." */
export function* bury(me: Me, { message, task: id }: { message: string; task: string }): Program {
  const { task } = yield* insist(dynamo.read, { id });
  if (task !== undefined && (task.status === 'queued' || !me.holds('buryOnlyQueued'))) {
    const written = yield* ask(write.bury, { id, seen: task.burials, now: me.now });
    if (written.kind === 'unknown') return;
    if (written.kind === 'written' && isTerminal(written.task)) {
      yield* ask(redis.release, { id, key: task.key, nonce: '', ended: true, reusable: false });
    }
  }
  yield* ask(removeDead, { name: message });
}
