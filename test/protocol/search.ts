import { createHash } from 'node:crypto';
import { continueFairly } from './continuation.ts';
import { copyWorld } from './copy.ts';
import { type How, type Move, mayStep, nextMoments, perform } from './moves.ts';
import type { Rule } from './rules.ts';
import { newWorld, type World } from './world.ts';

/** A small world whose every interleaving is tried: what is prepared has happened, `first` begins at once, the rest may happen so many times. */
export type Scenario = {
  readonly name: string;
  readonly inSystem: number;
  /** Keys of tasks that were posted and sent. */
  readonly posted: readonly string[];
  /** So many of their handlers run. */
  readonly running: number;
  readonly first: readonly Move[];
  readonly workers: number;
  readonly reconciles: number;
  readonly cancels: number;
  /** Crashes, replies that are lost, calls that do not happen, Redis losing its data: so many together. */
  readonly faults: number;
  readonly loss: boolean;
  readonly waits: number;
  readonly picks: readonly string[];
};

type Node = { readonly world: World; readonly left: Left; readonly moves: readonly Move[] };
type Left = {
  readonly workers: number;
  readonly reconciles: number;
  readonly cancels: number;
  readonly faults: number;
  readonly waits: number;
};

export type Searched = {
  readonly states: number;
  /** Every interleaving of so many moves was tried. */
  readonly depth: number;
  /** False: the limit on states, or a violation, ended the search. */
  readonly complete: boolean;
  readonly broken: Node | undefined;
};

const post = (name: string, key: string): Move => ({ do: 'begin', kind: 'post', name, skew: 0, args: { key } });
const ended = { posted: [], running: 0, first: [], workers: 0, reconciles: 0, cancels: 0, loss: false };
const base = { ...ended, inSystem: 1, faults: 1, waits: 2, picks: ['succeed', 'retry'] };

const beats = { faults: 0, waits: 4, picks: ['beat', 'succeed'] };

export const scenarios: readonly Scenario[] = [
  { ...base, name: 'two posts of one key', inSystem: 2, first: [post('t0', 'a'), post('t1', 'a')] },
  { ...base, name: 'a post, another and a reconcile', first: [post('t0', 'a'), post('t1', 'b')], reconciles: 1 },
  { ...base, name: 'one task, its message delivered twice', posted: ['a'], workers: 2 },
  {
    ...base,
    name: 'a handler, a cancel, another post',
    posted: ['a'],
    running: 1,
    cancels: 1,
    first: [post('t9', 'a')],
  },
  {
    ...base,
    ...beats,
    name: 'a handler, a reconcile, a second worker',
    posted: ['a'],
    running: 1,
    reconciles: 1,
    workers: 1,
  },
  {
    ...base,
    ...beats,
    name: 'a handler, lost data, a rebuild',
    posted: ['a'],
    running: 1,
    loss: true,
    faults: 1,
    reconciles: 1,
  },
  { ...base, ...beats, name: 'two tasks, one slot', inSystem: 2, posted: ['a', 'b'], running: 1, workers: 1 },
];

/** Runs one actor alone, to its end or until it asks `until`. */
function runAlone(world: World, begin: Move, until: string): Move[] {
  const moves = [begin];
  perform(world, begin);
  for (let actor = world.actors.at(-1); actor !== undefined && actor.call.action.name !== until; ) {
    const { name, call } = actor;
    const move: Move = { do: 'step', actor: name, how: 'ok', pick: call.action.picks?.(call.args as never)?.[0] };
    perform(world, move);
    moves.push(move);
    actor = world.actors.find((other) => other.name === name);
  }
  return moves;
}

function prepare(world: World, { posted, running, first }: Scenario): Move[] {
  const moves = posted.flatMap((key, at) => runAlone(world, post(`t${at}`, key), ''));
  for (let at = 0; at < running; at++) {
    const begin: Move = { do: 'receive', message: `t${at}/1`, name: `runs${at}`, skew: 0, twice: false };
    moves.push(...runAlone(world, begin, 'turn'));
  }
  for (const move of first) perform(world, move);
  return [...moves, ...first];
}

const continueEvery = 50;

/** Breadth first over all states that differ, level by level, until `mostStates`. Every 50th new state also gets a fair continuation. */
export function search(scenario: Scenario, mostStates: number, reverted: ReadonlySet<Rule> = new Set()): Searched {
  const limits = { version: 1, running: 1, inSystem: scenario.inSystem, paused: false };
  const world = newWorld({ limits, redisSkew: 0, isNew: false, indexLag: 0, bounded: true, reverted });
  const prepared = prepare(world, scenario);
  const { workers, reconciles, cancels, faults, waits } = scenario;
  let level: Node[] = [{ world, left: { workers, reconciles, cancels, faults, waits }, moves: prepared }];
  const known = new Set<string>();
  for (let depth = 0; level.length > 0; depth++) {
    const deeper: Node[] = [];
    for (const node of level) {
      for (const { move, left } of movesFrom(node, scenario)) {
        const next = { world: copyWorld(node.world), left, moves: [...node.moves, move] };
        if (!perform(next.world, move)) continue;
        const state = fingerprint(next);
        if (known.has(state)) continue;
        known.add(state);
        next.world.violation ??= known.size % continueEvery === 0 ? afterwards(next.world) : undefined;
        const ended = { states: known.size, depth, complete: false };
        if (next.world.violation !== undefined) return { ...ended, broken: next };
        if (known.size >= mostStates) return { ...ended, broken: undefined };
        deeper.push(next);
      }
    }
    if (deeper.length === 0) return { states: known.size, depth, complete: true, broken: undefined };
    level = deeper;
  }
  return { states: 0, depth: 0, complete: true, broken: undefined };
}

function afterwards(world: World): World['violation'] {
  const copy = copyWorld(world);
  continueFairly(copy);
  return copy.violation;
}

function* movesFrom({ world, left }: Node, scenario: Scenario): Generator<{ move: Move; left: Left }> {
  const able = world.actors.filter((actor) => mayStep(world, actor));
  // What an actor does by itself commutes with everything: it is done first.
  const alone = able.find(({ call }) => call.action.name === 'choose' || call.action.name === 'answer');
  for (const actor of alone === undefined ? able : [alone]) {
    const { action, args } = actor.call;
    const offered = action.picks?.(args as never) ?? [undefined];
    const picks =
      action.name === 'turn' ? offered.filter((pick) => pick !== undefined && scenario.picks.includes(pick)) : offered;
    for (const pick of picks) yield { move: { do: 'step', actor: actor.name, how: 'ok', pick }, left };
    if (left.faults === 0 || action.service === 'local') continue;
    const fewer = { ...left, faults: left.faults - 1 };
    const hows: readonly How[] = action.reads ? [] : ['lost', 'undone'];
    for (const how of hows) yield { move: { do: 'step', actor: actor.name, how }, left: fewer };
    yield { move: { do: 'crash', actor: actor.name }, left: fewer };
  }
  if (alone !== undefined) return;
  const count = (kind: string) => world.actors.filter((actor) => actor.kind === kind).length;
  if (left.workers > 0) {
    for (const { name: message, visibleAt } of world.queue) {
      if (visibleAt > world.now) continue;
      const move: Move = { do: 'receive', message, name: `work${left.workers}`, skew: 0, twice: left.workers > 1 };
      yield { move, left: { ...left, workers: left.workers - 1 } };
    }
  }
  const begin = (kind: 'reconcile' | 'cancel', name: string, args = {}): Move => ({
    do: 'begin',
    kind,
    name,
    skew: 0,
    args,
  });
  if (left.reconciles > 0 && count('reconcile') === 0) {
    yield {
      move: begin('reconcile', `reconcile${left.reconciles}`),
      left: { ...left, reconciles: left.reconciles - 1 },
    };
  }
  if (left.cancels > 0 && world.dynamo.tasks.has('t0')) {
    yield { move: begin('cancel', 'cancel', { id: 't0' }), left: { ...left, cancels: left.cancels - 1 } };
  }
  if (scenario.loss && left.faults > 0 && world.redis.epoch !== 0) {
    yield { move: { do: 'lose' }, left: { ...left, faults: left.faults - 1 } };
  }
  if (left.waits > 0) {
    const moments = nextMoments(world);
    const seconds = moments.length === 0 ? 5 : Math.min(...moments) - world.now;
    yield { move: { do: 'time', seconds }, left: { ...left, waits: left.waits - 1 } };
  }
}

/** All that decides what can happen from here on, in few bytes. */
function fingerprint({ world, left }: Node): string {
  const { now, dynamo, redis, queue, dead, actors, ghost } = world;
  const { tasks, dedup, settings } = dynamo;
  const maps = [tasks, dedup, redis.seats, redis.slots, redis.holders, redis.locks, ghost.handlers, ghost.started];
  const programs = actors.map(({ name, startedAt, log }) => [name, startedAt, log]);
  const plain = maps.map((map) => [...map]);
  const rest = [settings, redis.epoch, redis.rebuilder, queue, dead, [...ghost.unseated]];
  return createHash('sha1')
    .update(JSON.stringify([now, left, plain, rest, programs]))
    .digest('base64');
}
