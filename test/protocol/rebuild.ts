import { ask, insist, type Me, type Program, sleep } from './actor.ts';
import * as dynamo from './dynamo.ts';
import { openEpoch, restore, takeRebuild, writeLimits } from './redis-rebuild.ts';
import { seatMargin, times } from './times.ts';
import { isIndexed, type Task } from './world.ts';

/** Redis lost its data: "the rebuilder takes a lock, waits 15 s, restores limits, seats and holders, then writes a new epoch." */
export function* rebuild(me: Me): Program {
  const nonce = me.name;
  const lock = yield* ask(takeRebuild, { nonce });
  if (lock.kind !== 'taken') return;
  const settings = yield* insist(dynamo.readSettings, {});
  // "A settings item that never had an epoch is a new system: write both at once." DynamoDB first, under the same lock.
  const isNew = settings.epoch === 0 || !me.holds('onlyNewSystemOpensAtOnce');
  if (!isNew) {
    // "10 s create deadline, overlapping start's 5 s, then 5 s of index lag"
    if (me.holds('rebuildWaits')) yield* sleep(me.now + times.rebuildWait);
    if (!me.holds('epochIsLast') && (yield* open(me, settings.epoch))) return;
    if (!(yield* restoreAll(me))) return;
    if (!me.holds('epochIsLast')) return;
  }
  yield* open(me, settings.epoch);
}

function* open(me: Me, seen: number): Program<boolean> {
  const epoch = seen + 1;
  if (seen === 0 && !me.holds('firstEpochInDynamoFirst')) {
    yield* ask(openEpoch, { nonce: me.name, epoch });
    yield* ask(dynamo.writeEpoch, { epoch, seen });
    return false;
  }
  const written = yield* ask(dynamo.writeEpoch, { epoch, seen });
  if (written.kind !== 'written') return true;
  yield* ask(openEpoch, { nonce: me.name, epoch });
  return false;
}

function* restoreAll(me: Me): Program<boolean> {
  const settings = yield* insist(dynamo.readSettings, {});
  if (me.holds('rebuildRestoresLimits')) {
    const limits = yield* ask(writeLimits, { limits: settings.limits });
    if (limits.kind === 'unknown') return false;
  }
  const { ids } = yield* insist(dynamo.open, {});
  for (const id of ids) {
    const { task } = yield* insist(dynamo.read, { id });
    if (task === undefined || !isIndexed(task)) continue;
    const restored = yield* ask(restore, { nonce: me.name, id, ...leasesOf(task) });
    if (restored.kind !== 'restored') return false;
  }
  return true;
}

function leasesOf({ status, deadline, holder }: Task): { seatUntil: number; holder: string } {
  // Cancelled while it ran: no seat, but the slot stays until the handler has stopped.
  if (status === 'cancelled') return { seatUntil: 0, holder };
  if (status === 'running') return { seatUntil: deadline + seatMargin, holder };
  return { seatUntil: status === 'waiting' ? deadline + seatMargin : deadline, holder: '' };
}
