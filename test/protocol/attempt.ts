import { type Action, ask, insist, type Me, type Program, sleep } from './actor.ts';
import * as dynamo from './dynamo.ts';
import { beganWithoutLease } from './invariants.ts';
import * as redis from './redis.ts';
import { hide, remove } from './sqs.ts';
import { most, seatMargin, times } from './times.ts';
import * as write from './transitions.ts';
import { isTerminal, type Task } from './world.ts';

export type Delivery = { message: string; task: string; send: number; receives: number };

/** Keeps the set of running handlers for the checker. `asOf`: local clock when the worker learnt that its lease lasts until `until`. */
const handlerBegins: Action<{ id: string; until: number; asOf: number }, { kind: 'noted' }> = {
  service: 'local',
  name: 'handlerBegins',
  apply(world, { id, until, asOf }, by) {
    world.ghost.handlers.set(by.name, { task: id, until });
    if (until <= asOf - by.skew + world.setup.redisSkew) beganWithoutLease(world, by.name);
    return { kind: 'noted' };
  },
};

const handlerStops: Action<object, { kind: 'noted' }> = {
  service: 'local',
  name: 'handlerStops',
  apply({ ghost }, _, by) {
    ghost.handlers.delete(by.name);
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

/** Runs the handler of a started attempt under its heartbeat and writes how it ended. */
export function* attempt(
  me: Me,
  delivery: Delivery,
  task: Task,
  lease: { begunAt: number; goodUntil: number },
): Program {
  yield* ask(handlerBegins, { id: task.id, until: lease.goodUntil, asOf: me.now });
  let goodSince = lease.begunAt;
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
        yield* sleep(goodSince + times.lease / 3);
        const askedAt = me.now;
        const beat = yield* heartbeat(me, delivery, id);
        const late = me.now - goodSince >= times.lease && me.holds('lateBeatStops');
        if (beat === 'stop' || late) {
          // "A lost lease or a cancelled task aborts the handler's signal"; then the slot is given back.
          yield* ask(handlerStops, {});
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
  // Without an epoch too: a lease after its cancel no handler of a task goes on.
  const seatless = beat.kind === 'seatless' && me.holds('seatlessReadsRecord');
  if (seatless || (beat.kind === 'rebuilding' && me.holds('cancelledSlotIsRestored'))) {
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
  const written = yield* insist(write.finish, { ...own, outcome, now: me.now });
  const mine = written.task?.attempt === attempt && written.task.status === outcome;
  const ended = written.kind === 'written' || mine || !me.holds('refusedKeepsSeat');
  yield* ask(redis.release, { id, key, nonce: me.name, ended, reusable: outcome === 'succeeded' });
  yield* ask(remove, { name: message });
}

/** "retry: first keep, then the conditional write, then release own slots"; the message comes back at runAt, or reconcile sends another. */
function* back(me: Me, { message, receives }: Delivery, task: Task, own: write.Attempt): Program {
  const runAt = me.now + times.retryDelay;
  const keep = { id: task.id, until: runAt + times.startWindow };
  const keepFirst = me.holds('keepBeforeRetry');
  const kept = keepFirst ? (yield* ask(redis.keep, keep)).kind === 'kept' : true;
  const written = yield* insist(write.requeue, { ...own, kept, why: 'failures', runAt });
  if (!keepFirst) yield* ask(redis.keep, keep);
  yield* ask(redis.release, { id: task.id, key: task.key, nonce: me.name, ended: false, reusable: false });
  const again = written.kind === 'written' && receives < most.receives;
  if (again) yield* ask(hide, { name: message, seconds: times.retryDelay, deferred: receives });
  else yield* ask(remove, { name: message });
}

/** "pause: first keep, then the conditional write, then release own slots": a person decides, no slot is held. */
function* pause(me: Me, { message }: Delivery, task: Task, own: write.Attempt): Program {
  const decideBy = me.now + times.decideWithin;
  const keep = { id: task.id, until: decideBy + seatMargin };
  const keepFirst = me.holds('keepBeforePause');
  const kept = keepFirst ? (yield* ask(redis.keep, keep)).kind === 'kept' : true;
  yield* insist(write.pause, { ...own, kept, approval: `${task.id}.${own.attempt}`, decideBy });
  if (!keepFirst) yield* ask(redis.keep, keep);
  yield* ask(redis.release, { id: task.id, key: task.key, nonce: me.name, ended: false, reusable: false });
  yield* ask(remove, { name: message });
}
