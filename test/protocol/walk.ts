import type { Actor } from './actor.ts';
import { continueFairly } from './continuation.ts';
import { type Move, mayStep, nextMoments, perform } from './moves.ts';
import { type Random, random } from './random.ts';
import type { Rule } from './rules.ts';
import { times } from './times.ts';
import { isTerminal, newWorld, type Setup, type World } from './world.ts';

/** What may happen in a walk beside posts, work, reconcile and time. Each walk leaves some out, so that the others meet more often. */
const features = [
  'crash',
  'reply',
  'late',
  'stall',
  'twice',
  'purge',
  'cancel',
  'approve',
  'limits',
  'lose',
  'outage',
  'skew',
  'unbounded',
] as const;
export type Feature = (typeof features)[number];

export type Walk = { readonly seed: number; readonly setup: Setup; readonly moves: Move[]; readonly world: World };

/** One random walk of at most `length` moves and, unless it broke something, a fair continuation. The same seed gives the same walk. */
export function walk(
  seed: number,
  reverted: ReadonlySet<Rule>,
  length: number,
  seen: (move: Move, world: World) => void = () => undefined,
): Walk {
  const rng = random(seed);
  const chosen = new Set<Feature>(features.filter(() => rng.chance(0.5)));
  const setup: Setup = {
    limits: { version: 1, running: rng.chance(0.8) ? 1 : 2, inSystem: rng.chance(0.5) ? 1 : 2, paused: false },
    redisSkew: chosen.has('skew') && rng.chance(0.5) ? times.skew : 0,
    indexLag: times.indexLag,
    bounded: !chosen.has('unbounded'),
    reverted,
  };
  const world = newWorld(setup);
  const moves: Move[] = [];
  const faults = rng.pick([0.02, 0.05, 0.15]);
  /** Machines that stand still, until which move: races need one actor to wait at the wrong moment while all others go on. */
  const stalled = new Map<string, number>();
  for (let at = 0; at < length && world.violation === undefined; at++) {
    for (const { name } of world.actors) {
      if (chosen.has('stall') && (stalled.get(name) ?? 0) <= at && rng.chance(0.03))
        stalled.set(name, at + rng.pick([10, 40, 120]));
    }
    const awake = world.actors.filter((actor) => (stalled.get(actor.name) ?? 0) <= at && mayStep(world, actor));
    const move = nextMove(world, rng, chosen, faults, at, awake);
    if (move === undefined || !perform(world, move)) continue;
    moves.push(move);
    seen(move, world);
  }
  if (world.violation === undefined) continueFairly(world, (move) => seen(move, world));
  return { seed, setup, moves, world };
}

/** Makes the moves that are possible, in order, and continues fairly. `seen` is told before each move, so that it can describe it. */
export function replay(
  setup: Setup,
  moves: readonly Move[],
  seen: (move: Move, world: World) => void = () => undefined,
): World {
  const world = newWorld(setup);
  for (const move of moves) {
    if (world.violation !== undefined) return world;
    seen(move, world);
    perform(world, move);
  }
  if (world.violation === undefined) continueFairly(world, (move) => seen(move, world));
  return world;
}

function nextMove(
  world: World,
  rng: Random,
  chosen: ReadonlySet<Feature>,
  faults: number,
  at: number,
  awake: readonly Actor[],
): Move | undefined {
  const has = (feature: Feature) => chosen.has(feature);
  const skew = has('skew') && rng.chance(0.5) ? times.skew : 0;
  if (rng.chance(faults)) {
    const fault = aFault(world, rng, has);
    if (fault !== undefined) return fault;
  }
  if (awake.length > 0 && rng.chance(0.75)) {
    const { name, call } = rng.pick(awake);
    const picks = call.action.picks?.(call.args as never);
    const hows = has('late') ? (['lost', 'undone', 'late'] as const) : (['lost', 'undone'] as const);
    const how = has('reply') && rng.chance(faults) ? rng.pick(hows) : 'ok';
    return {
      do: 'step',
      actor: name,
      how,
      ...(picks === undefined ? {} : { pick: picks.includes('beat') && rng.chance(0.4) ? 'beat' : rng.pick(picks) }),
    };
  }
  return rng.chance(0.5) ? aBeginning(world, rng, has, skew, at) : aWait(world, rng);
}

function aWait(world: World, rng: Random): Move {
  if (world.dynamo.unindexed.size > 0 && rng.chance(0.4)) return { do: 'index' };
  const moments = nextMoments(world);
  const next = rng.chance(0.5) || moments.length === 0 ? 5 : Math.min(...moments) - world.now;
  const allEnded = [...world.dynamo.tasks.values()].every(isTerminal);
  return { do: 'time', seconds: allEnded && rng.chance(0.02) ? times.recordKept : Math.max(1, next) };
}

function aBeginning(
  world: World,
  rng: Random,
  has: (feature: Feature) => boolean,
  skew: number,
  at: number,
): Move | undefined {
  const count = (kind: string) => world.actors.filter((actor) => actor.kind === kind).length;
  const visible = world.queue.filter(({ visibleAt }) => visibleAt <= world.now);
  const message = visible.length > 0 ? rng.pick(visible).name : undefined;
  const tasks = [...world.dynamo.tasks.values()];
  const kind = rng.pick([
    'post',
    'receive',
    'receive',
    'receive',
    'reconcile',
    'bury',
    'cancel',
    'approve',
    'limits',
  ] as const);
  switch (kind) {
    case 'post': {
      const name = `t${at}`;
      if (count('post') >= 3 || tasks.length > 7) return undefined;
      return { do: 'begin', kind, name, skew, args: { key: rng.pick(['a', 'a', 'b']) } };
    }
    case 'receive':
      if (message === undefined || count('work') >= 3) return undefined;
      return { do: 'receive', message, name: `work${at}`, skew, twice: has('twice') && rng.chance(0.2) };
    case 'reconcile':
      return count('reconcile') >= 2 ? undefined : { do: 'begin', kind, name: `reconcile${at}`, skew, args: {} };
    case 'bury': {
      const dead = world.dead[0];
      return dead === undefined ? undefined : { do: 'bury', message: dead.name, name: `bury${at}`, skew };
    }
    case 'cancel':
      if (!has('cancel') || tasks.length === 0 || rng.chance(0.5)) return undefined;
      return { do: 'begin', kind, name: `cancel${at}`, skew, args: { id: rng.pick(tasks).id } };
    case 'approve': {
      const waiting = tasks.filter(({ approval }) => approval !== '');
      if (!has('approve') || waiting.length === 0) return undefined;
      const { id, approval } = rng.pick(waiting);
      return {
        do: 'begin',
        kind,
        name: `approve${at}`,
        skew,
        args: { id, approval: rng.chance(0.8) ? approval : `${id}.0` },
      };
    }
    case 'limits': {
      if (!has('limits') || rng.chance(0.5)) return undefined;
      const args = { running: rng.pick([0, 1, 1, 2]), inSystem: rng.pick([0, 1, 2]), paused: rng.chance(0.2) };
      return { do: 'begin', kind, name: `limits${at}`, skew, args };
    }
  }
}

function aFault(world: World, rng: Random, has: (feature: Feature) => boolean): Move | undefined {
  const actor = world.actors.length > 0 ? rng.pick(world.actors) : undefined;
  const message = world.queue.length > 0 ? rng.pick(world.queue) : undefined;
  const late = world.late.length > 0 ? rng.pick(world.late) : undefined;
  const fault = rng.pick(['crash', 'land', 'purge', 'lose', 'outage'] as const);
  switch (fault) {
    case 'crash':
      return has('crash') && actor !== undefined ? { do: 'crash', actor: actor.name } : undefined;
    case 'land':
      return late === undefined ? undefined : { do: rng.chance(0.8) ? 'land' : 'vanish', call: late.name };
    case 'purge':
      return has('purge') && message !== undefined ? { do: 'purge', message: message.name } : undefined;
    case 'lose':
      return has('lose') && world.redis.epoch !== 0 ? { do: 'lose' } : undefined;
    case 'outage':
      if (!has('outage')) return undefined;
      return { do: world.reachable ? 'disconnect' : 'connect' };
  }
}
