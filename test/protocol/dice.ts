import type { Actor } from './actor.ts';
import { type Feature, features } from './features.ts';
import { type Move, nextMoments } from './moves.ts';
import { type Random, random } from './random.ts';
import type { Rule } from './rules.ts';
import { times } from './times.ts';
import { isTerminal, type Setup, type World } from './world.ts';

/** Makes up the next move of a random walk. Its habits (how busy, how patient, how faulty) are thrown once, so that walks differ in kind. */
export class Dice {
  private readonly random: Random;
  private readonly chosen: ReadonlySet<Feature>;
  private readonly busy: number;
  private readonly faults: number;
  private readonly beats: number;
  private readonly leaps: number;
  private readonly still = new Map<string, number>();
  private readonly slow = new Set<string>();

  constructor(seed: number, needs: readonly Feature[]) {
    const rng = random(seed);
    this.random = rng;
    const other = needs.length > 0 ? 0.2 : 0.5;
    this.chosen = new Set(features.filter((feature) => needs.includes(feature) || rng.chance(other)));
    this.busy = rng.pick([0.6, 0.8, 0.9]);
    this.faults = rng.pick([0.01, 0.04, 0.12, 0.25]);
    this.beats = rng.pick([0.2, 0.8]);
    this.leaps = rng.pick([0.05, 0.4]);
  }

  setup(reverted: ReadonlySet<Rule>): Setup {
    const rng = this.random;
    return {
      limits: { version: 1, running: rng.chance(0.8) ? 1 : 2, inSystem: rng.pick([1, 2, 2, 3]), paused: false },
      redisSkew: this.has('skew') && rng.chance(0.5) ? times.skew : 0,
      isNew: this.has('new') && rng.chance(0.3),
      indexLag: times.indexLag,
      bounded: !this.has('unbounded'),
      reverted,
    };
  }

  private has(feature: Feature): boolean {
    return this.chosen.has(feature);
  }

  /** Races need a machine to stand still at the wrong moment while the others go on; a slow one does so at each of its steps. */
  standsStill(name: string, at: number): boolean {
    if (!this.has('stall')) return false;
    const until = this.still.get(name);
    if (until === undefined) this.still.set(name, 0);
    if (until === undefined && this.random.chance(0.2)) this.slow.add(name);
    return (until ?? 0) > at;
  }

  next(world: World, awake: readonly Actor[], at: number): Move | undefined {
    const rng = this.random;
    if (rng.chance(this.faults)) {
      const fault = this.fault(world);
      if (fault !== undefined) return fault;
    }
    if (awake.length > 0 && rng.chance(this.busy)) return this.step(rng.pick(awake), at);
    return rng.chance(0.5) ? this.beginning(world, at) : this.wait(world);
  }

  private step({ name, call }: Actor, at: number): Move {
    const rng = this.random;
    if (rng.chance(this.slow.has(name) ? 0.7 : 0.02)) this.still.set(name, at + rng.pick([3, 15, 50, 120]));
    const picks = call.action.picks?.(call.args as never);
    const hows = this.has('late') ? (['lost', 'undone', 'late', 'late'] as const) : (['lost', 'undone'] as const);
    const how = this.has('reply') && rng.chance(this.faults) ? rng.pick(hows) : 'ok';
    if (picks === undefined) return { do: 'step', actor: name, how };
    const pick = picks.includes('beat') && rng.chance(this.beats) ? 'beat' : rng.pick(picks);
    return { do: 'step', actor: name, how, pick };
  }

  private wait(world: World): Move {
    const rng = this.random;
    if (world.dynamo.unindexed.size > 0 && rng.chance(0.4)) return { do: 'index' };
    const moments = nextMoments(world);
    const next = rng.chance(this.leaps) && moments.length > 0 ? Math.min(...moments) - world.now : 5;
    const ended = [...world.dynamo.tasks.values()].every(isTerminal);
    return { do: 'time', seconds: ended && rng.chance(0.02) ? times.recordKept : next };
  }

  private beginning(world: World, at: number): Move | undefined {
    const rng = this.random;
    const skew = this.has('skew') && rng.chance(0.5) ? times.skew : 0;
    const count = (kind: string) => world.actors.filter((actor) => actor.kind === kind).length;
    const tasks = [...world.dynamo.tasks.values()];
    const visible = world.queue.filter(({ visibleAt }) => visibleAt <= world.now);
    const waiting = tasks.filter(({ approval, status }) => approval !== '' && !isTerminal({ status }));
    const kinds = [
      'post',
      'receive',
      'receive',
      'receive',
      'reconcile',
      'bury',
      'cancel',
      'approve',
      'limits',
    ] as const;
    const kind = rng.pick(kinds);
    switch (kind) {
      case 'post': {
        if (count('post') >= 3 || tasks.length > 7) return undefined;
        return { do: 'begin', kind, name: `t${at}`, skew, args: { key: rng.pick(['a', 'a', 'b', 'c']) } };
      }
      case 'receive': {
        if (visible.length === 0 || count('work') >= 4) return undefined;
        const twice = this.has('twice') && rng.chance(0.2);
        return { do: 'receive', message: rng.pick(visible).name, name: `work${at}`, skew, twice };
      }
      case 'reconcile':
        return count(kind) >= 2 ? undefined : { do: 'begin', kind, name: `reconcile${at}`, skew, args: {} };
      case 'bury': {
        const [dead] = world.dead;
        return dead && { do: 'bury', message: dead.name, name: `bury${at}`, skew };
      }
      case 'cancel':
        if (!this.has('cancel') || tasks.length === 0 || rng.chance(0.5)) return undefined;
        return { do: 'begin', kind, name: `cancel${at}`, skew, args: { id: rng.pick(tasks).id } };
      case 'approve': {
        if (!this.has('approve') || waiting.length === 0) return undefined;
        const { id, approval } = rng.pick(waiting);
        const named = rng.chance(0.8) ? approval : `${id}.0`;
        return { do: 'begin', kind, name: `approve${at}`, skew, args: { id, approval: named } };
      }
      case 'limits': {
        if (!this.has('limits') || rng.chance(0.5)) return undefined;
        const args = { running: rng.pick([0, 1, 1, 2]), inSystem: rng.pick([0, 1, 2]), paused: rng.chance(0.2) };
        return { do: 'begin', kind, name: `limits${at}`, skew, args };
      }
    }
  }

  private fault(world: World): Move | undefined {
    const rng = this.random;
    const { actors, queue, late } = world;
    const faults: Move[] = [];
    if (this.has('crash') && actors.length > 0) faults.push({ do: 'crash', actor: rng.pick(actors).name });
    if (late.length > 0) faults.push({ do: rng.chance(0.8) ? 'land' : 'vanish', call: rng.pick(late).name });
    if (this.has('purge') && queue.length > 0) faults.push({ do: 'purge', message: rng.pick(queue).name });
    if (this.has('lose') && world.redis.epoch !== 0 && rng.chance(0.5)) faults.push({ do: 'lose' });
    if (this.has('outage')) faults.push({ do: world.reachable ? 'disconnect' : 'connect' });
    return faults.length > 0 ? rng.pick(faults) : undefined;
  }
}
