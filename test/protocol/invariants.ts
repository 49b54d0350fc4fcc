import { times } from './times.ts';
import { isTerminal, redisNow, type Task, violate, type World } from './world.ts';

/**
 * What must always hold, checked where it could break. I1 to I7 are the protocol's; T is what it implies and does not number: what is told is true
 * (a task expires only past its deadline, a worker is called lost only when its lease is, a live task answers whoever asks for it).
 */

/** Tasks that are in the system by the truth: they have a live seat, or an open record whose seat is promised to last beyond now. */
export function inSystem(world: World): Set<string> {
  const now = redisNow(world);
  const { redis, dynamo, ghost, setup } = world;
  const ids = new Set<string>();
  for (const [id, until] of redis.seats) if (until > now) ids.add(id);
  for (const [id, task] of dynamo.tasks) {
    if (isTerminal(task) || task.deadline <= now || ghost.unseated.has(id)) continue;
    // A write that landed later than its caller may make it is not promised a seat by a rebuild that was over by then.
    if (setup.bounded || task.epoch === redis.epoch) ids.add(id);
  }
  return ids;
}

/** Attempts that use the backend: live slots, and handlers whose last heartbeat is still good. */
export function runningNow(world: World): Set<string> {
  const now = redisNow(world);
  const nonces = new Set<string>();
  for (const [id, until] of world.redis.slots)
    if (until > now) nonces.add(world.redis.holders.get(id) ?? `slot of ${id}`);
  for (const [nonce, { until }] of world.ghost.handlers) if (until > now) nonces.add(nonce);
  return nonces;
}

/** I1 for seats. `epoch`: of the record whose missing seat was put back; absent for a new task. */
export function seatGranted(world: World, id: string, epoch?: number): void {
  const task = world.dynamo.tasks.get(id);
  const { ghost, redis } = world;
  // "An open record's seat is a fact, not a grant", where its keep was lost; one that has ended gives it back when its start is refused.
  const fact = epoch !== undefined && (ghost.unseated.has(id) || task === undefined || isTerminal(task));
  if (fact && epoch === redis.epoch) return;
  const ids = inSystem(world).add(id);
  if (ids.size > ghost.inForce.inSystem) {
    violate(world, 'I1', `seat for ${id}: ${[...ids].join(', ')} in the system, limit ${ghost.inForce.inSystem}`);
  }
}

/** I1 for slots, checked whenever one is taken: a limit lowered below its use kills nothing. */
export function slotGranted(world: World): void {
  const { running } = world.ghost.inForce;
  const now = runningNow(world);
  if (now.size > running) violate(world, 'I1', `${[...now].join(', ')} run, limit ${running}`);
}

/** I1: a handler that begins with a lapsed lease runs beside whoever took its slot, until its first heartbeat. */
export function beganWithoutLease(world: World, nonce: string): void {
  const now = runningNow(world).add(nonce);
  const { running } = world.ghost.inForce;
  if (now.size > running)
    violate(world, 'I1', `${nonce} begins without a lease: ${[...now].join(', ')} run, limit ${running}`);
}

/** T: a lease that lapsed does not come back for an attempt that still runs by its record: it may have been called lost meanwhile. */
export function leaseRevived(world: World, id: string, nonce: string): void {
  const task = world.dynamo.tasks.get(id);
  if (task?.status === 'running' && task.holder === nonce)
    violate(world, 'T', `the lost lease of ${nonce} on ${id} comes back`);
}

/** I2, I4 and I6, at every write to a task item. */
export function taskWritten(world: World, before: Task | undefined, after: Task): void {
  if (
    before !== undefined &&
    isTerminal(before) &&
    (before.status !== after.status || before.finishedAt !== after.finishedAt)
  ) {
    violate(world, 'I2', `${after.id} was ${before.status} and became ${after.status}`);
  }
  if (isTerminal(after)) return;
  for (const other of world.dynamo.tasks.values()) {
    if (other.id !== after.id && other.key === after.key && !isTerminal(other)) {
      violate(world, 'I4', `${other.id} and ${after.id} live under one dedup key ${after.key}`);
    }
  }
}

/** I6: one attempt number is started by one nonce. T: a retry does not start before its time. */
export function attemptStarted(world: World, before: Task, task: Task): void {
  if (world.now + 2 * times.skew < before.runAt)
    violate(world, 'T', `${task.id} starts at ${world.now}, not before ${before.runAt}`);
  const attempt = `${task.id}#${task.attempt}`;
  const first = world.ghost.started.get(attempt);
  if (first !== undefined && first !== task.holder) {
    violate(world, 'I6', `attempt ${attempt} was started by ${first} and by ${task.holder}`);
  }
  world.ghost.started.set(attempt, task.holder);
}

/** I6: who commits is the attempt that the record names. */
export function attemptCommits(world: World, before: Task, nonce: string): void {
  if (before.status === 'running' && before.holder !== nonce) {
    violate(world, 'I6', `${nonce} ends ${before.id} while ${before.holder} runs it and could, too`);
  }
}

/** T: nothing expires before its deadline. */
export function taskExpires(world: World, before: Task): void {
  if (before.status === 'queued' && redisNow(world) < before.deadline) {
    violate(world, 'T', `${before.id} expires at ${redisNow(world)}, its deadline is ${before.deadline}`);
  }
}

/** T: only a task that waits is given up for its messages. */
export function taskBuried(world: World, before: Task): void {
  if (before.status !== 'queued') violate(world, 'T', `${before.id} is buried while it is ${before.status}`);
}

/** T: a worker whose handler runs under a good lease is not called lost. */
export function workerCalledLost(world: World, before: Task): void {
  if ((world.ghost.handlers.get(before.holder)?.until ?? 0) > redisNow(world)) {
    violate(world, 'T', `${before.holder} is called lost while it runs ${before.id}`);
  }
}

/** T: a refusal is wrong when the dedup item named a live task from before the request until its answer. I3: a 202 has a record. */
export function answered(
  world: World,
  since: number,
  { key, kind, id }: { key: string; kind: string; id: string },
): void {
  const { tasks, dedup } = world.dynamo;
  if (kind === '202' && !tasks.has(id)) violate(world, 'I3', `202 for ${id}, which has no record`);
  const named = tasks.get(dedup.get(key)?.task ?? '');
  if ((kind === 'full' || kind === 'creating') && named !== undefined && !isTerminal(named) && named.bornAt < since) {
    violate(world, 'T', `refused (${kind}) although ${named.id} lives under ${key}`);
  }
}

/** I5 and I7 over time: `strays` remembers since when a live lease has no live task behind it. Called as time passes in a fair continuation. */
export function checkStrays(world: World, strays: Map<string, number>): void {
  const now = redisNow(world);
  const { redis, dynamo } = world;
  const stray = (name: string, isStray: boolean, bound: number) => {
    if (!isStray) strays.delete(name);
    else if (!strays.has(name)) strays.set(name, now);
    else if (now - (strays.get(name) ?? now) > bound)
      violate(world, 'I5', `${name} stays without a live task for more than ${bound} s`);
  };
  const isOpen = (id: string) => {
    const task = dynamo.tasks.get(id);
    return task !== undefined && !isTerminal(task);
  };
  const lapse = times.lease + times.period;
  for (const name of strays.keys()) {
    const [kind, id = ''] = name.split(' ');
    const until =
      kind === 'slot' ? redis.slots.get(id) : kind === 'seat' ? redis.seats.get(id) : redis.locks.get(id)?.until;
    if ((until ?? 0) <= now) strays.delete(name);
  }
  for (const [id, until] of redis.slots) {
    const runs = dynamo.tasks.get(id)?.status === 'running' && dynamo.tasks.get(id)?.holder === redis.holders.get(id);
    if (until > now) stray(`slot ${id}`, !runs, lapse);
  }
  for (const [id, until] of redis.seats) if (until > now) stray(`seat ${id}`, !isOpen(id), lapse + times.orphan);
  for (const [key, lock] of redis.locks) {
    if (lock.until > now && lock.state === 'creating') stray(`lock ${key}`, !isOpen(lock.id), lapse);
  }
}
