import { type Action, ask, choose, insist, type Me, type Program, sleep } from './actor.ts';
import * as dynamo from './dynamo.ts';
import { answered } from './invariants.ts';
import * as redis from './redis.ts';
import { writeLimits } from './redis-rebuild.ts';
import { send } from './sqs.ts';
import { times } from './times.ts';
import * as write from './transitions.ts';
import { isTerminal, type Limits, reusable } from './world.ts';

type Answer = { key: string; kind: '202' | '200' | 'full' | 'creating' | 'unavailable'; id: string };

/** The HTTP answer; here the checker sees whether it is true. */
const answer: Action<Answer, { kind: 'answered' }> = {
  service: 'local',
  name: 'answer',
  apply(world, given, by) {
    world.ghost.answers.set(by.name, `${given.kind} ${given.id}`);
    answered(world, by.startedAt, given);
    return { kind: 'answered' };
  },
};

function* giveBack(id: string, key: string): Program {
  yield* ask(redis.release, { id, key, nonce: '', ended: true, reusable: false });
}

/** "Judge the task it names like any duplicate": live or reusable → it answers. */
function* judge(me: Me, key: string, id: string): Program<Answer | undefined> {
  const { task } = yield* insist(dynamo.read, { id });
  if (task === undefined) return undefined;
  if (!isTerminal(task)) return me.holds('seenMustBeTerminal') ? { key, kind: '202', id } : undefined;
  return reusable(task, me.now) ? { key, kind: '200', id } : undefined;
}

function* judgeDedup(me: Me, key: string): Program<Answer | undefined> {
  const { task } = yield* insist(dynamo.readDedup, { key });
  return task === undefined ? undefined : yield* judge(me, key, task);
}

/** Posting. The fingerprint or Idempotency-Key is `key`; the id is made first, by this machine's clock. */
export function* post(me: Me, { key }: { key: string }): Program {
  const id = me.name;
  const given = (yield* decide(me, key, id)) ?? { key, kind: 'unavailable', id };
  yield* ask(answer, given);
}

function* decide(me: Me, key: string, id: string): Program<Answer | undefined> {
  const madeAt = me.now;
  let replaces = '';
  for (let round = 1; round <= 3; round++) {
    const begunAt = me.holds('createDeadlineFromId') ? madeAt : me.now;
    let reply = yield* ask(redis.admit, { key, id, replaces });
    // "It names this very id (a re-sent call charges nothing)."
    if (reply.kind === 'unknown') reply = yield* ask(redis.admit, { key, id, replaces });
    switch (reply.kind) {
      case 'unknown':
        yield* giveBack(id, key);
        return undefined;
      case 'rebuilding':
        return undefined;
      case 'admitted':
        return yield* create(me, { key, id, replaces, begunAt, ...reply });
      case 'rejected':
        // "Before a refusal for capacity is sent, the dedup item is read: a live or reusable task is the answer even when the pool is full."
        return (me.holds('refusalReadsDedup') ? yield* judgeDedup(me, key) : undefined) ?? { key, kind: 'full', id };
      case 'duplicate': {
        if (reply.creating) return (yield* awaitCreation(me, key, reply.task)) ?? { key, kind: 'creating', id };
        const known = yield* judge(me, key, reply.task);
        if (known !== undefined) return known;
        replaces = reply.task;
      }
    }
  }
  return undefined;
}

/** "A duplicate that waits for a creation polls the dedup item, not the lock's id: that task may never exist." At most 2 s: no step of time. */
function* awaitCreation(me: Me, key: string, locked: string): Program<Answer | undefined> {
  for (let polls = 1; polls <= 2; polls++) {
    const known = yield* me.holds('waitPollsDedup') ? judgeDedup(me, key) : judge(me, key, locked);
    if (known !== undefined) return known;
    yield* sleep(me.now);
  }
  return undefined;
}

type Seated = {
  key: string;
  id: string;
  replaces: string;
  begunAt: number;
  now: number;
  deadline: number;
  epoch: number;
};

function* create(me: Me, seated: Seated): Program<Answer | undefined> {
  const { key, id, begunAt } = seated;
  const until = begunAt + times.createDeadline;
  let seen = seated.replaces;
  for (let tries = 1; tries <= 2; tries++) {
    const transaction = { ...seated, seen, token: `${id} for ${seen}` };
    let made = yield* ask(dynamo.create, transaction, until, times.orphan);
    // "On an unknown outcome repeat the same transaction with its client token until the create deadline (10 s)."
    while (made.kind === 'unknown' && me.now < until && me.holds('createIsRepeated')) {
      made = yield* ask(dynamo.create, transaction, until, times.orphan);
    }
    if (made.kind === 'unknown') {
      // "Still unknown → 503, and release nothing: a late write must find its seat."
      if (!me.holds('unknownReleasesNothing')) yield* giveBack(id, key);
      return undefined;
    }
    if (made.kind === 'created') {
      yield* announce(me, key, id);
      return { key, kind: '202', id };
    }
    // "Live or reusable → the answer; else once more with :seen. Own seat and lock are given back."
    const known = yield* judge(me, key, made.task);
    if (known !== undefined) {
      if (me.holds('ownSeatGivenBack')) yield* giveBack(id, key);
      return known;
    }
    seen = made.task;
  }
  yield* giveBack(id, key);
  return undefined;
}

/** Send and confirm run beside each other; neither can undo the acceptance. */
function* announce(me: Me, key: string, id: string): Program {
  const first = yield* choose(['confirm', 'send']);
  if (first === 'confirm') yield* ask(redis.confirm, { key, id });
  yield* sendCounted(me, id, 1);
  if (first === 'send') yield* ask(redis.confirm, { key, id });
}

/** "After success dueAt moves to now + re-send age. A failed send leaves the task due." */
export function* sendCounted(me: Me, task: string, number: number): Program {
  const sent = yield* ask(send, { task, number });
  if (sent.kind !== 'unknown') yield* ask(write.markSent, { id: task, sends: number, now: me.now });
}

/** "cancel: one conditional write to cancelled from any open status; seat removed in the same call; the slot stays." */
export function* cancel(me: Me, { id }: { id: string }): Program {
  const written = yield* insist(write.cancel, { id, now: me.now });
  const { task } = written;
  if (task?.status === 'cancelled') {
    yield* ask(redis.release, { id, key: task.key, nonce: '', ended: true, reusable: false });
  }
}

/** A decision, by a person or by time-out. The seat is kept first: the new deadline may lie beyond what the pause kept. */
export function* resume(me: Me, { id, approval }: { id: string; approval: string }): Program {
  const { task } = yield* insist(dynamo.read, { id });
  if (task?.status !== 'waiting') return;
  const { now } = me;
  const keep = { id, until: now + times.startWindow };
  const kept = me.holds('keepBeforeResume') ? (yield* ask(redis.keep, keep)).kind === 'kept' : true;
  const written = yield* ask(write.resume, { id, approval, now, kept });
  if (written.kind === 'written') yield* sendCounted(me, id, written.task.sends);
}

/** "Live limits are written to DynamoDB first and to Redis only if newer." A pause is one of them. */
export function* changeLimits(me: Me, change: Omit<Limits, 'version'>): Program {
  const settings = yield* insist(dynamo.readSettings, {});
  const limits = { ...change, version: settings.limits.version + 1 };
  if (!me.holds('limitsDynamoFirst')) yield* ask(writeLimits, { limits });
  const written = yield* ask(dynamo.patchLimits, { limits });
  if (written.kind === 'written' && me.holds('limitsDynamoFirst')) yield* ask(writeLimits, { limits });
}
