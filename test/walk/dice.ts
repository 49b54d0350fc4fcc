import type { Paused } from '../../lib/domain/live-limits.ts';
import { addMs, type EpochMs, minute, second, toEpochMs } from '../../lib/domain/time.ts';
import { type Random, random } from '../protocol/random.ts';
import { memberOf } from '../support/model/world.ts';
import type { World } from '../support/model.ts';
import { dedupKeys, everybodysTiers, everyTier, limitOf, openWorld, pools, type Task, taskAt } from './place.ts';
import { liveRates, settling, someRates } from './rate-dice.ts';
import type { Call, CallStep, Step } from './steps.ts';

const mostTasks = 8;
const ofAttempts: ReadonlySet<Call | undefined> = new Set(['extend', 'release', 'alive', 'settle']);
const leases = [15 * second, 30 * second];
/** Round, or an edge of a histogram's bucket (10·2^k). */
const passes = [second, 5 * second, 15 * second, 30 * second, 20, 320, 5_120, 10_240, 20_480];

/** Draws the steps of one walk. It looks at the model, so that most of what it draws could happen. */
export class Dice {
  readonly world: World;
  readonly #random: Random;
  readonly #calls: readonly Call[];
  readonly #tasks: Task[] = [];
  #made = 0;
  #nonces = 0;
  #epochs = 0;

  /** Every fifth walk is of a system where tasks start and end all the time, so that histograms fill and forget; another one is about rate rules. */
  constructor(seed: number) {
    this.#random = random(seed);
    this.#calls = [calls, busyCalls, rateCalls][seed % 5] ?? calls;
    this.world = openWorld(this.#random, this.#calls === calls ? undefined : 0.1);
  }

  next(): Step {
    const { chance, pick } = this.#random;
    if (chance(0.12)) return this.#pass();
    if (chance(this.#calls === calls ? 0.003 : 0.0003)) return { do: 'lose' };
    if (chance(0.01)) return { do: 'lapse', of: pick(dedupKeys) };
    if (this.world.epoch === undefined && chance(0.3)) return this.#rebuild();
    const call = this.#call(pick(this.#calls));
    return chance(0.02) && call.call !== 'times' ? { ...call, short: true } : call;
  }

  /** To where a lease is over, to a millisecond before, or by a round time; seldom back, as when a replica takes over whose clock is behind. */
  #pass(): Step {
    const { chance, pick } = this.#random;
    const { now, tiers, rates } = this.world;
    const leases = [...tiers.values()].flatMap(({ seats, slots }) => [...seats.ends.values(), ...slots.ends.values()]);
    const ends = [...leases, ...[...rates.values()].map(({ expires }) => expires)];
    if (chance(0.02)) return { do: 'pass', ms: -pick([1, 5 * second]) };
    const next = Math.min(...ends.filter((end) => end > now + 1));
    if (!Number.isFinite(next) || chance(0.5)) return { do: 'pass', ms: chance(0.1) ? 1 : pick(passes) };
    return { do: 'pass', ms: next - now - (chance(0.3) ? 1 : 0) };
  }

  #rebuild(): Step {
    const { chance } = this.#random;
    if (chance(0.05)) return { do: 'lapse', of: 'rebuilder' };
    return this.#call('restore');
  }

  #call(call: Call): CallStep {
    const { chance, pick } = this.#random;
    const task = call === 'admit' && chance(0.75) ? this.#newTask() : this.#anyTask(call);
    const nonce = this.#nonceOf(task);
    switch (call) {
      case 'peek':
        return { do: 'call', call, input: { dedupKey: chance(0.6) ? task.dedupKey : undefined, tiers: task.tiers } };
      case 'admit':
        return { do: 'call', call, input: { ...task, ...this.#admitOptions(task) } };
      case 'refuse':
        return {
          do: 'call',
          call,
          input: { tier: pick(everyTier), everyMs: pick([7, second, 5 * second, 20 * minute]) },
        };
      case 'rate':
        return { do: 'call', call, input: { asks: someRates(this.#random, task, pick([1, 2, 4])) } };
      case 'settle':
        return { do: 'call', call, input: settling(this.#random, task) };
      case 'confirm':
        return { do: 'call', call, input: task };
      case 'acquire':
        return { do: 'call', call, input: { ...task, ...this.#acquireOptions(nonce) } };
      case 'extend':
        return { do: 'call', call, input: { ...task, nonce, leaseMs: pick(leases) } };
      case 'keep':
        return { do: 'call', call, input: { ...task, until: this.#soon([0, second, 60 * second, 90 * second]) } };
      case 'release': {
        const ended = chance(0.4) ? { pointerMs: chance(0.5) ? 0 : 5 * minute } : undefined;
        return {
          do: 'call',
          call,
          input: { ...task, nonce: chance(0.8) ? nonce : undefined, served: chance(0.8), ended },
        };
      }
      case 'alive':
        return { do: 'call', call, input: { ...task, nonce } };
      case 'observe':
        return { do: 'call', call, input: { tiers: task.tiers, of: chance(0.7) ? task : undefined } };
      case 'ledger':
        return { do: 'call', call, input: everyTier };
      case 'times':
        return { do: 'call', call, input: everybodysTiers };
      case 'setLimits':
        return { do: 'call', call, input: this.#limits() };
      case 'restore':
        return { do: 'call', call, input: this.#restoreOptions(task, nonce) };
    }
  }

  #newTask(): Task {
    const task = taskAt(this.#random, ++this.#made);
    this.#tasks.push(task);
    if (this.#tasks.length > mostTasks) this.#tasks.splice(Math.floor(this.#random.next() * mostTasks), 1);
    return task;
  }

  /** For what an attempt does, mostly one whose slots are held; to settle, one that is charged. */
  #anyTask(call?: Call): Task {
    const { chance, pick } = this.#random;
    if (this.#tasks.length === 0) return this.#newTask();
    const { holders, charges } = this.world;
    const held = this.#tasks.filter((task) => (call === 'settle' ? charges.has(task.id) : holders.has(memberOf(task))));
    return ofAttempts.has(call) && held.length > 0 && chance(0.8) ? pick(held) : pick(this.#tasks);
  }

  /** Of the attempt that holds the task's slots, or of one that never did. */
  #nonceOf(task: Task): string {
    const held = this.world.holders.get(memberOf(task))?.nonce;
    return held !== undefined && this.#random.chance(0.85) ? held : `n${++this.#nonces}`;
  }

  #admitOptions(task: Task) {
    const { chance, pick } = this.#random;
    const { dedupKey } = task;
    const named = this.world.locks.get(dedupKey);
    const replaces = named !== undefined && chance(0.5) ? named.id : chance(0.1) ? this.#anyTask().id : undefined;
    const rates = chance(0.6) ? someRates(this.#random, task, 4) : undefined;
    return { replaces, mostAhead: chance(0.25) ? pick([0, 1, 2]) : undefined, rates };
  }

  #acquireOptions(nonce: string) {
    const { chance, pick } = this.#random;
    const epoch = this.world.epoch ?? 1;
    return {
      nonce,
      attempt: pick([1, 2, 3]),
      leaseMs: pick(leases),
      deadline: chance(0.9)
        ? this.#soon([1, 30 * second, 60 * second])
        : toEpochMs(this.world.now - pick([0, 1, second])),
      seatMs: pick([15 * second, 45 * second, 90 * second]),
      epoch: chance(0.25) ? Math.max(1, epoch - 1) : epoch,
      expectedBy: chance(0.3) ? toEpochMs(this.world.now + pick([-1, 0, second])) : undefined,
    };
  }

  #limits() {
    const { chance, pick } = this.#random;
    const version = Math.max(1, (this.world.version ?? 0) + pick([-1, 0, 1, 1, 1, 2]));
    const limit = () => (chance(0.6) ? limitOf(this.#random) : undefined);
    const clients = (['tenant', 'ip'] as const).map((tier) => ({ tier, name: '*' }));
    const some = [...everybodysTiers, ...clients].filter(() => chance(0.3));
    const paused = pools.filter(() => chance(0.2)).map((pool) => [pool, { admission: pick(['continue', 'refuse']) }]);
    return {
      version,
      overrides: some.map((tier) => ({ tier, limits: { inSystem: limit(), running: limit() } })),
      paused: Object.fromEntries(paused) as Paused,
      rates: liveRates(this.#random),
    };
  }

  #restoreOptions(task: Task, nonce: string) {
    const { chance, pick } = this.#random;
    const rebuilder = { nonce: chance(0.85) ? 'r1' : 'r2', lockMs: pick([minute, 10 * minute]), take: chance(0.6) };
    if (chance(0.3)) return { ...rebuilder, epoch: ++this.#epochs };
    if (chance(0.1)) return rebuilder;
    const lease = {
      ...task,
      seatUntil: this.#soon([30 * second, 60 * second]),
      ...pick([{ holder: undefined }, { holder: nonce }, { holder: nonce, seatUntil: undefined }]),
      attempt: 1,
      leaseMs: pick(leases),
    };
    return { ...rebuilder, lease };
  }

  #soon(within: readonly number[]): EpochMs {
    return addMs(this.world.now, this.#random.pick(within));
  }
}

const calls = repeated({
  peek: 6,
  admit: 22,
  refuse: 3,
  rate: 10,
  settle: 8,
  confirm: 8,
  acquire: 22,
  extend: 8,
  keep: 5,
  release: 16,
  alive: 5,
  observe: 6,
  ledger: 2,
  times: 2,
  setLimits: 3,
  restore: 2,
});
const rateCalls = repeated({ admit: 12, rate: 8, settle: 10, release: 6, setLimits: 1 });
const busyCalls = repeated({ admit: 6, acquire: 12, extend: 1, release: 12, observe: 1, ledger: 1, times: 1 });

function repeated(weights: Partial<Record<Call, number>>): Call[] {
  return (Object.entries(weights) as [Call, number][]).flatMap(([call, weight]) => Array<Call>(weight).fill(call));
}
