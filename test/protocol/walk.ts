import { continueFairly } from './continuation.ts';
import { Dice } from './dice.ts';
import type { Feature } from './features.ts';
import { type Move, mayStep, perform } from './moves.ts';
import type { Rule } from './rules.ts';
import { newWorld, type Setup, type World } from './world.ts';

export type Seen = (move: Move, world: World) => void;
export type Walk = { readonly seed: number; readonly setup: Setup; readonly moves: Move[]; readonly world: World };
export type WalkOptions = {
  readonly reverted: ReadonlySet<Rule>;
  readonly length: number;
  /** What every walk must have. Then the rest is left out more often. */
  readonly needs?: readonly Feature[];
  readonly answers?: Map<string, number>;
  /** Told of each move before it is made. */
  readonly seen?: Seen;
};

const unseen: Seen = () => undefined;

/** One random walk of at most `length` moves and, unless it broke something, a fair continuation. The same seed and options give the same walk. */
export function walk(seed: number, { reverted, length, needs = [], answers, seen = unseen }: WalkOptions): Walk {
  const dice = new Dice(seed, needs);
  const setup = { ...dice.setup(reverted), answers };
  const world = newWorld(setup);
  const moves: Move[] = [];
  for (let at = 0; at < length && world.violation === undefined; at++) {
    const awake = world.actors.filter((actor) => mayStep(world, actor) && !dice.standsStill(actor.name, at));
    const move = dice.next(world, awake, at);
    if (move === undefined) continue;
    seen(move, world);
    if (perform(world, move)) moves.push(move);
  }
  if (world.violation === undefined) continueFairly(world, (move) => seen(move, world));
  return { seed, setup, moves, world };
}

/** Makes the moves that are possible, in order, then continues fairly. */
export function replay(setup: Setup, moves: readonly Move[], seen: Seen = unseen): World {
  const world = newWorld(setup);
  for (const move of moves) {
    if (world.violation !== undefined) return world;
    seen(move, world);
    perform(world, move);
  }
  if (world.violation === undefined) continueFairly(world, (move) => seen(move, world));
  return world;
}
