import { checkStrays } from './invariants.ts';
import { type Move, mayStep, nextMoments, perform } from './moves.ts';
import { times } from './times.ts';
import { isTerminal, redisNow, type Task, violate, type World } from './world.ts';

const longest = 3_000;
const mostSteps = 5_000;

export type Seen = (move: Move) => void;

/**
 * A fair continuation: faults stop, everyone runs, time passes, reconcile runs each period. By its end every record is terminal, leases are gone within
 * their bounds, DynamoDB and Redis agree; then a new request under each key is accepted and comes to its end.
 */
export function continueFairly(world: World, seen: Seen = () => undefined): void {
  const run = new FairRun(world, seen);
  run.recover();
  const hadTime = run.tasksWithTime();
  run.untilQuiet();
  run.checkEnded(hadTime);
  run.checkAgreement();
  if (world.violation === undefined) run.postAgain();
}

class FairRun {
  private readonly world: World;
  private readonly seen: Seen;
  private readonly strays = new Map<string, number>();
  private steps = 0;
  private names = 0;
  private reconcileAt: number;
  /** Since when nothing but time and reconcile is needed: two periods later all is mended. */
  private calmSince: number;

  constructor(world: World, seen: Seen) {
    this.world = world;
    this.seen = seen;
    this.reconcileAt = world.now;
    this.calmSince = world.now;
  }

  private make(move: Move): boolean {
    const { world } = this;
    if (world.violation !== undefined || this.steps++ > mostSteps) return false;
    this.seen(move);
    return perform(world, move);
  }

  recover(): void {
    const { world } = this;
    this.make({ do: 'connect' });
    for (const { name } of world.late) this.make({ do: 'land', call: name });
  }

  /** Queued tasks that a resend and two periods reach before their deadline: "start window > re-send age + two periods". */
  tasksWithTime(): Task[] {
    const { dynamo, ghost, redis, actors } = this.world;
    const { running, paused } = dynamo.settings.limits;
    if (
      running === 0 ||
      paused ||
      redis.epoch === 0 ||
      ghost.unseated.size > 0 ||
      actors.some(({ kind }) => kind === 'limits')
    )
      return [];
    const enough = redisNow(this.world) + times.resendAge + 2 * times.period + times.lease + 3 * times.skew;
    const queued = [...dynamo.tasks.values()].filter(({ status }) => status === 'queued');
    return queued.filter((task) => task.deadline > enough && task.runAt < enough && task.epoch === redis.epoch);
  }

  /** Everyone who can go on does, in turn; messages are delivered; time passes to the next moment at which something can happen. */
  untilQuiet(): void {
    const { world } = this;
    const until = world.now + longest;
    while (world.violation === undefined && world.now < until && this.steps < mostSteps) {
      if (world.redis.epoch === 0) this.calmSince = world.now;
      if (this.stepAll() || this.deliver()) continue;
      if (this.isQuiet()) return;
      const next = Math.min(...nextMoments(world), this.reconcileAt, world.now + times.period);
      this.make({ do: 'time', seconds: Math.max(1, next - world.now) });
      if (world.now >= this.reconcileAt) {
        this.reconcileAt = world.now + times.period;
        this.make({ do: 'begin', kind: 'reconcile', name: `fair-reconcile${++this.names}`, skew: 0, args: {} });
      }
      if (world.redis.epoch !== 0) checkStrays(world, this.strays);
    }
    if (world.violation === undefined) violate(world, this.isQuiet(false) ? 'I7' : 'I3', this.whatIsLeft());
  }

  private stepAll(): boolean {
    const able = this.world.actors.filter((actor) => mayStep(this.world, actor));
    for (const { name, call } of able) {
      const pick = call.action.picks?.(call.args as never)?.[0];
      this.make({ do: 'step', actor: name, how: 'ok', pick });
    }
    return able.length > 0;
  }

  private deliver(): boolean {
    const { queue, dead, now } = this.world;
    const message = queue.find(({ visibleAt }) => visibleAt <= now);
    if (message !== undefined) {
      return this.make({
        do: 'receive',
        message: message.name,
        name: `fair-worker${++this.names}`,
        skew: 0,
        twice: false,
      });
    }
    const buried = dead[0];
    return (
      buried !== undefined && this.make({ do: 'bury', message: buried.name, name: `fair-bury${++this.names}`, skew: 0 })
    );
  }

  private isQuiet(withHolders = true): boolean {
    const { dynamo, redis, actors, queue, dead, late } = this.world;
    const now = redisNow(this.world);
    if (this.world.now < this.calmSince + 2 * times.period) return false;
    const ended = [...dynamo.tasks.values()].every(isTerminal);
    const leases = [...redis.seats.values(), ...redis.slots.values()].some((until) => until > now);
    const locks = [...redis.locks.values()].some(({ state, until }) => state === 'creating' && until > now);
    return (
      ended &&
      !leases &&
      !locks &&
      (redis.holders.size === 0 || !withHolders) &&
      (actors.length + queue.length + dead.length + late.length === 0 || !withHolders)
    );
  }

  private whatIsLeft(): string {
    const { dynamo, redis, actors, queue } = this.world;
    const open = [...dynamo.tasks.values()]
      .filter((task) => !isTerminal(task))
      .map(({ id, status }) => `${id} ${status}`);
    const parts = {
      open,
      actors: actors.map(({ name, call }) => `${name} at ${call.action.name}`),
      messages: queue.map(({ name }) => name),
      seats: [...redis.seats.keys()],
      slots: [...redis.slots.keys()],
      holders: [...redis.holders.keys()],
    };
    const left = Object.entries(parts).filter(([, names]) => names.length > 0);
    return `never comes to rest: ${left.map(([name, names]) => `${name}: ${names.join(', ')}`).join('; ')}`;
  }

  /** I3: "nothing waits for something that will never come": who had time and a slot to come does not expire. */
  checkEnded(hadTime: readonly Task[]): void {
    for (const { id } of hadTime) {
      if (this.world.dynamo.tasks.get(id)?.status === 'expired')
        violate(this.world, 'I3', `${id} expired although it could run`);
    }
  }

  /** I7 */
  checkAgreement(): void {
    const { world } = this;
    const { settings } = world.dynamo;
    const { epoch, limits } = world.redis;
    if (epoch === 0) violate(world, 'I7', 'Redis still has no epoch');
    const agree = limits?.version === settings.limits.version && limits.running === settings.limits.running;
    if (!agree) violate(world, 'I7', `DynamoDB has limits ${settings.limits.version}, Redis ${limits?.version}`);
  }

  /** I7: nothing that was left behind keeps a new request out. */
  postAgain(): void {
    const { world } = this;
    const open = { running: 1, inSystem: 9, paused: false };
    this.make({ do: 'begin', kind: 'limits', name: 'fair-open', skew: 0, args: open });
    this.untilQuiet();
    for (const key of new Set(['a', ...world.dynamo.dedup.keys()])) {
      const name = `fair-post-${key}`;
      this.make({ do: 'begin', kind: 'post', name, skew: 0, args: { key } });
      while (world.actors.length > 0 && this.stepAll());
      const got = world.ghost.answers.get(name) ?? 'nothing';
      if (!/^20[02]/.test(got)) violate(world, 'I7', `a new request under ${key} is answered ${got}`);
    }
    this.untilQuiet();
  }
}
