import { type Actor, type Call, type Me, type Program, unknown } from './actor.ts';
import { cancel, changeLimits, post, resume } from './api.ts';
import { reconcile } from './reconcile.ts';
import { receive } from './sqs.ts';
import { most, times } from './times.ts';
import { bury, work } from './worker.ts';
import { catchUp, emptyRedis, holds, passTime, type World } from './world.ts';

/** How a call ends. `lost`: it happened, the reply did not come. `undone`: it did not happen. `late`: it will, or not, after the caller gave up. */
export type How = 'ok' | 'lost' | 'undone' | 'late';

/** Everything that can happen next. A trace is a list of moves; names are fixed when a move is made up, so a trace that lost some moves still replays. */
export type Move =
  | { readonly do: 'step'; readonly actor: string; readonly how: How; readonly pick?: string | undefined }
  | { readonly do: 'crash'; readonly actor: string }
  | {
      readonly do: 'begin';
      readonly kind: Kind;
      readonly name: string;
      readonly skew: number;
      readonly args: Actor['args'];
    }
  | {
      readonly do: 'receive';
      readonly message: string;
      readonly name: string;
      readonly skew: number;
      readonly twice: boolean;
    }
  | { readonly do: 'bury'; readonly message: string; readonly name: string; readonly skew: number }
  | { readonly do: 'land' | 'vanish'; readonly call: string }
  | { readonly do: 'time'; readonly seconds: number }
  | { readonly do: 'lose' | 'index' | 'disconnect' | 'connect' }
  | { readonly do: 'purge'; readonly message: string };

const programs = {
  post: (me: Me, args: Actor['args']) => post(me, args as Parameters<typeof post>[1]),
  cancel: (me: Me, args: Actor['args']) => cancel(me, args as Parameters<typeof cancel>[1]),
  approve: (me: Me, args: Actor['args']) => resume(me, args as Parameters<typeof resume>[1]),
  limits: (me: Me, args: Actor['args']) => changeLimits(me, args as Parameters<typeof changeLimits>[1]),
  work: (me: Me, args: Actor['args']) => work(me, args as Parameters<typeof work>[1]),
  bury: (me: Me, args: Actor['args']) => bury(me, args as Parameters<typeof bury>[1]),
  reconcile: (me: Me) => reconcile(me),
};
export type Kind = keyof typeof programs;

type Live = { readonly me: Me; readonly program: Program };
/** The running generator of an actor; one that was copied has none and gets it by replaying its replies. */
const live = new WeakMap<Actor, Live>();

function launch(world: World, actor: Omit<Actor, 'call'>): { live: Live; first: IteratorResult<Call, void> } {
  const me: Me = { name: actor.name, now: actor.startedAt + actor.skew, holds: (rule) => holds(world, rule) };
  const program = programs[actor.kind as Kind](me, actor.args);
  return { live: { me, program }, first: program.next(unknown) };
}

function begin(world: World, kind: Kind, name: string, skew: number, args: Actor['args']): boolean {
  if (world.actors.some((actor) => actor.name === name)) return false;
  const actor = { name, kind, args, skew, startedAt: world.now, log: [] };
  if (kind === 'post') world.made.set(name, world.now + skew);
  const { live: running, first } = launch(world, actor);
  if (first.done) return true;
  const begun: Actor = { ...actor, call: first.value };
  live.set(begun, running);
  world.actors = [...world.actors, begun];
  return true;
}

function resumeWith(world: World, actor: Actor, value: unknown): void {
  let running = live.get(actor);
  if (running === undefined) {
    running = launch(world, actor).live;
    for (const reply of actor.log) {
      running.me.now = reply.now;
      running.program.next(reply.value);
    }
    live.set(actor, running);
  }
  const { answers } = world.setup;
  if (answers !== undefined) {
    const { service, name } = actor.call.action;
    const answer = `${service}.${name} → ${(value as { kind: string }).kind}`;
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  const now = world.now + actor.skew;
  actor.log.push({ value, now });
  running.me.now = now;
  const next = running.program.next(value);
  if (next.done) drop(world, actor);
  else actor.call = next.value;
}

function drop(world: World, actor: Actor): void {
  world.actors = world.actors.filter((other) => other !== actor);
  world.ghost.handlers.delete(actor.name);
}

/** An actor that sleeps may not go on. One that may and does not is a frozen machine. */
export function mayStep(world: World, actor: Actor): boolean {
  const { action, args } = actor.call;
  return (action.wakeAt?.(args as never) ?? 0) <= world.now + actor.skew;
}

function land(world: World, call: Call, by: Actor, pick: string): unknown {
  if (call.action.service === 'redis' && !world.reachable) return unknown;
  const grace = world.setup.bounded ? 0 : call.grace;
  if (call.landsBy !== undefined && world.now + by.skew > call.landsBy + grace) return unknown;
  return call.action.apply(world, call.args as never, by, pick);
}

function step(world: World, actor: Actor, how: How, pick: string | undefined): boolean {
  if (!mayStep(world, actor)) return false;
  const { call } = actor;
  const { action } = call;
  const picks = action.picks?.(call.args as never) ?? [''];
  if (action.service === 'local') {
    const chosen = pick !== undefined && picks.includes(pick) ? pick : (picks[0] ?? '');
    resumeWith(world, actor, action.apply(world, call.args as never, actor, chosen));
    return true;
  }
  if (how === 'late') {
    if (action.reads) return false;
    world.late = [...world.late, { name: `${actor.name}.${actor.log.length}`, call, by: actor }];
  }
  const value = how === 'ok' || how === 'lost' ? land(world, call, actor, '') : unknown;
  resumeWith(world, actor, how === 'ok' ? value : unknown);
  return true;
}

/** Makes one move; false where it is not possible now, and nothing happened. */
export function perform(world: World, move: Move): boolean {
  const actor = 'actor' in move ? world.actors.find(({ name }) => name === move.actor) : undefined;
  switch (move.do) {
    case 'step':
      return actor !== undefined && step(world, actor, move.how, move.pick);
    case 'crash':
      if (actor !== undefined) drop(world, actor);
      return actor !== undefined;
    case 'begin':
      return begin(world, move.kind, move.name, move.skew, move.args);
    case 'receive': {
      const message = world.queue.find(({ name }) => name === move.message);
      if (message === undefined || message.visibleAt > world.now) return false;
      const received = receive(world, message, most.receives, move.twice);
      if (received === undefined) return true;
      const { task, send, receives } = received;
      return begin(world, 'work', move.name, move.skew, { message: message.name, task, send, receives });
    }
    case 'bury': {
      const message = world.dead.find(({ name }) => name === move.message);
      if (message === undefined) return false;
      return begin(world, 'bury', move.name, move.skew, { message: message.name, task: message.task });
    }
    case 'land':
    case 'vanish': {
      const late = world.late.find(({ name }) => name === move.call);
      world.late = world.late.filter((other) => other !== late);
      if (late !== undefined && move.do === 'land') land(world, late.call, late.by, '');
      return late !== undefined;
    }
    case 'time':
      passTime(world, move.seconds);
      return true;
    case 'index':
      for (const id of world.dynamo.unindexed.keys()) catchUp(world, id);
      return true;
    case 'lose':
      world.redis = emptyRedis();
      return true;
    case 'disconnect':
    case 'connect':
      world.reachable = move.do === 'connect';
      return true;
    case 'purge': {
      const before = world.queue.length;
      world.queue = world.queue.filter(({ name }) => name !== move.message);
      return world.queue.length < before;
    }
  }
}

/** The moments at which something lapses, falls due or wakes, from now on. */
export function nextMoments(world: World): number[] {
  const { redis, dynamo, queue, actors, now, setup } = world;
  const byRedis = [
    ...redis.seats.values(),
    ...redis.slots.values(),
    ...[...redis.locks.values()].map(({ until }) => until),
  ];
  const byOthers = [...dynamo.tasks.values()].flatMap(({ dueAt, deadline }) => [dueAt, deadline]);
  const sleeping = actors.map(({ call, skew }) => (call.action.wakeAt?.(call.args as never) ?? 0) - skew);
  const moments = [
    ...byRedis.map((at) => at - setup.redisSkew),
    ...byOthers,
    ...queue.map(({ visibleAt }) => visibleAt),
    ...sleeping,
  ];
  return moments.filter((at) => at > now && at < now + times.recordKept);
}
