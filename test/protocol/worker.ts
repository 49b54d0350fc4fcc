import { type Action, ask, insist, type Me, type Program } from './actor.ts';
import * as dynamo from './dynamo.ts';
import * as redis from './redis.ts';
import { hide, remove, removeDead } from './sqs.ts';
import { most, seatMargin, times } from './times.ts';
import { isTerminal, type Task } from './world.ts';

export type Delivery = { message: string; task: string; send: number; receives: number };

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
  const written = yield* ask(dynamo.expire, { id, seen: deadline, now: me.now });
  if (written.kind === 'unknown') return;
  if (written.kind === 'written') yield* ask(redis.release, { id, key, nonce: '', ended: true, reusable: false });
  if (message !== '') yield* ask(remove, { name: message });
}

/** "Held, busy, paused, rebuilding → defer; a message with an older send number is acked instead; at the last permitted receive set dueAt and ack." */
function* defer(me: Me, { message, send, receives }: Delivery, task: Task): Program {
  const old = send < task.sends && me.holds('oldSendIsAcked');
  if (!old && receives >= most.receives && me.holds('lastReceiveSetsDue'))
    yield* ask(dynamo.setDue, { id: task.id, now: me.now });
  else if (!old) return void (yield* ask(hide, { name: message, seconds: times.deferral }));
  yield* ask(remove, { name: message });
}

type Slots = { now: number; lapses: number; epoch: number };

function* begin(me: Me, delivery: Delivery, task: Task, slots: Slots): Program {
  const { id } = task;
  const nonce = me.name;
  const ack = () => ask(remove, { name: delivery.message });
  // "start: within 5 s of acquire."
  const until = me.holds('startWithinDeadline') ? me.now + times.startDeadline : undefined;
  const started = yield* ask(dynamo.start, { id, nonce, seen: task.attempt, ...slots }, until);
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
  yield* ask(handler, { nonce, id, until: goodUntil, runs: true });
  yield* attempt(me, delivery, current, begunAt);
}

/** Keeps the set of running handlers for the checker. It begins with the lease that its last `extend` gave. */
const handler: Action<{ nonce: string; id: string; until: number; runs: boolean }, { kind: 'noted' }> = {
  service: 'local',
  name: 'handler',
  apply({ ghost }, { nonce, id, until, runs }) {
    if (runs) ghost.handlers.set(nonce, { task: id, until });
    else ghost.handlers.delete(nonce);
    return { kind: 'noted' };
  },
};

type Turn = 'beat' | 'succeed' | 'fail' | 'retry' | 'ask';

/** What the handler does next; past its deadline it has been stopped. */
const turn: Action<{ nonce: string; mayAsk: boolean; mayBeat: boolean }, { kind: Turn }> = {
  service: 'local',
  name: 'turn',
  picks: ({ mayAsk, mayBeat }) => [
    'succeed',
    'retry',
    'fail',
    ...(mayBeat ? ['beat'] : []),
    ...(mayAsk ? ['ask'] : []),
  ],
  apply({ ghost }, { nonce }, _by, pick) {
    if (pick !== 'beat') ghost.handlers.delete(nonce);
    return { kind: pick as Turn };
  },
};

function* attempt(me: Me, delivery: Delivery, task: Task, begunAt: number): Program {
  let goodSince = begunAt;
  const { id, attempt, key } = task;
  const own = { id, nonce: me.name, attempt };
  const ack = () => ask(remove, { name: delivery.message });
  const release = (ended: boolean, reusable = false) =>
    ask(redis.release, { id, key, nonce: me.name, ended, reusable });
  for (;;) {
    const { kind } = yield* ask(turn, {
      nonce: me.name,
      mayAsk: task.approval === '',
      mayBeat: me.now <= task.deadline,
    });
    switch (kind as Turn) {
      case 'beat': {
        const askedAt = me.now;
        const beat = yield* heartbeat(me, delivery, id);
        const late = me.now - goodSince >= times.lease && me.holds('lateBeatStops');
        if (beat === 'stop' || late) {
          // "A lost lease or a cancelled task aborts the handler's signal"; then the slot is given back.
          yield* ask(handler, { nonce: me.name, id, until: 0, runs: false });
          yield* release(false);
          return void (yield* ack());
        }
        if (beat === 'good') goodSince = askedAt;
        break;
      }
      case 'retry':
        if (task.failures + 1 < most.tries) return yield* back(me, delivery, task, own);
        return yield* end(me, delivery, task, 'failed');
      case 'ask':
        return yield* pause(me, delivery, task, own);
      case 'succeed':
        return yield* end(me, delivery, task, 'succeeded');
      case 'fail':
        return yield* end(me, delivery, task, 'failed');
    }
  }
}

/** "extended | lost | seatless → read the record: terminal means abort." Where no answer comes the handler goes on while its lease is good. */
function* heartbeat(me: Me, { message }: Delivery, id: string): Program<'good' | 'unknown' | 'stop'> {
  const beat = yield* ask(redis.extend, { id, nonce: me.name });
  if (beat.kind === 'lost') return 'stop';
  if (beat.kind === 'seatless' && me.holds('seatlessReadsRecord')) {
    const { task } = yield* insist(dynamo.read, { id });
    if (task === undefined || isTerminal(task)) return 'stop';
  }
  yield* ask(hide, { name: message, seconds: times.lease });
  return beat.kind === 'unknown' ? 'unknown' : 'good';
}

/** "finish: one conditional write, then release slots, seat, and the pointer … It never waits for Redis. Refused → release own slots only." */
function* end(me: Me, { message }: Delivery, task: Task, outcome: 'succeeded' | 'failed'): Program {
  const { id, key, attempt } = task;
  const own = { id, nonce: me.name, attempt };
  const written = yield* insist(dynamo.finish, { ...own, outcome, now: me.now });
  const mine = written.task?.attempt === attempt && written.task.status === outcome;
  const ended = written.kind === 'written' || mine || !me.holds('refusedKeepsSeat');
  yield* ask(redis.release, { id, key, nonce: me.name, ended, reusable: outcome === 'succeeded' });
  yield* ask(remove, { name: message });
}

/** "retry: first keep, then the conditional write, then release own slots"; the message comes back at runAt. */
function* back(me: Me, { message }: Delivery, task: Task, own: dynamo.Attempt): Program {
  const runAt = me.now + times.retryDelay;
  const keep = { id: task.id, until: runAt + times.startWindow };
  const keepFirst = me.holds('keepBeforeRetry');
  const kept = keepFirst ? (yield* ask(redis.keep, keep)).kind === 'kept' : true;
  const written = yield* insist(dynamo.requeue, { ...own, kept, why: 'failures', runAt });
  if (!keepFirst) yield* ask(redis.keep, keep);
  yield* ask(redis.release, { id: task.id, key: task.key, nonce: me.name, ended: false, reusable: false });
  if (written.kind === 'written') yield* ask(hide, { name: message, seconds: times.retryDelay });
  else yield* ask(remove, { name: message });
}

/** "pause: first keep, then the conditional write, then release own slots": a person decides, no slot is held. */
function* pause(me: Me, { message }: Delivery, task: Task, own: dynamo.Attempt): Program {
  const decideBy = me.now + times.decideWithin;
  const keep = { id: task.id, until: decideBy + seatMargin };
  const keepFirst = me.holds('keepBeforePause');
  const kept = keepFirst ? (yield* ask(redis.keep, keep)).kind === 'kept' : true;
  yield* insist(dynamo.pause, { ...own, kept, approval: `${task.id}.${own.attempt}`, decideBy });
  if (!keepFirst) yield* ask(redis.keep, keep);
  yield* ask(redis.release, { id: task.id, key: task.key, nonce: me.name, ended: false, reusable: false });
  yield* ask(remove, { name: message });
}

/** The dead-letter queue's consumer: "a queued one is set due again, and failed at its third burial." */
export function* bury(me: Me, { message, task: id }: { message: string; task: string }): Program {
  const { task } = yield* insist(dynamo.read, { id });
  if (task !== undefined && (task.status === 'queued' || !me.holds('buryOnlyQueued'))) {
    const written = yield* ask(dynamo.bury, { id, seen: task.burials, now: me.now });
    if (written.kind === 'unknown') return;
    if (written.kind === 'written' && isTerminal(written.task)) {
      yield* ask(redis.release, { id, key: task.key, nonce: '', ended: true, reusable: false });
    }
  }
  yield* ask(removeDead, { name: message });
}
