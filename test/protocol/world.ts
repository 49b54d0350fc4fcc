import type { Actor, Call } from './actor.ts';
import type { Rule } from './rules.ts';
import { times } from './times.ts';

export type Status = 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled' | 'expired';

/** The task item. Never changed in place: a write replaces it, so whoever read it keeps what it saw. */
export type Task = {
  readonly id: string;
  readonly key: string;
  readonly status: Status;
  readonly attempt: number;
  readonly failures: number;
  readonly lost: number;
  readonly burials: number;
  readonly holder: string;
  /** Queued: may start until. Running: this attempt ends by. Waiting: decide by. */
  readonly deadline: number;
  /** When reconcile looks at it. */
  readonly dueAt: number;
  readonly runAt: number;
  readonly sends: number;
  readonly epoch: number;
  readonly approval: string;
  readonly finishedAt: number;
  readonly expiresAt: number;
  /** True time of its creation; only the invariants look at it. */
  readonly bornAt: number;
};

export type Limits = {
  readonly version: number;
  readonly running: number;
  readonly inSystem: number;
  readonly paused: boolean;
};
export type Message = {
  readonly name: string;
  readonly task: string;
  readonly send: number;
  readonly receives: number;
  readonly visibleAt: number;
  /** Which receive ended in a deferral; 0 = none. */
  readonly deferred: number;
};
export type Lock = { readonly id: string; readonly state: 'creating' | 'created'; readonly until: number };

export type Dynamo = {
  readonly tasks: Map<string, Task>;
  readonly dedup: Map<string, { readonly task: string; readonly expiresAt: number }>;
  /** Client tokens of transactions that succeeded. */
  readonly tokens: Set<string>;
  /** Epoch 0: never had one. */
  settings: { readonly epoch: number; readonly limits: Limits };
  /** Open tasks by dueAt, as the index shows them; `unindexed` (task → since when) is what it does not show yet. */
  readonly index: Map<string, number>;
  readonly unindexed: Map<string, number>;
};

/** Redis data. A lapsed lease stays until it is swept, as in a ZSET. Epoch 0: absent. */
export type Redis = {
  readonly seats: Map<string, number>;
  readonly slots: Map<string, number>;
  readonly holders: Map<string, string>;
  readonly locks: Map<string, Lock>;
  epoch: number;
  limits: Limits | undefined;
  rebuilder: { readonly nonce: string; readonly until: number } | undefined;
};

/** What only the checker knows: it decides nothing in the protocol. */
export type Ghost = {
  /** Handlers that run: nonce → task and until when its last heartbeat is good. */
  readonly handlers: Map<string, { readonly task: string; readonly until: number }>;
  /** Tasks whose `keep` did not answer `kept`: their seat is not promised until the next acquire. */
  readonly unseated: Set<string>;
  /** Which nonce started an attempt. */
  readonly started: Map<string, string>;
  /** The newest limits Redis was ever given. */
  inForce: Limits;
  readonly answers: Map<string, string>;
};

export type Setup = {
  readonly limits: Limits;
  readonly redisSkew: number;
  /** A system that never had an epoch; otherwise one is in place. */
  readonly isNew: boolean;
  /** A write that its caller may only make until a deadline does not land after it. Otherwise it may, within its grace. */
  readonly bounded: boolean;
  /** How long the index may take to show a write. */
  readonly indexLag: number;
  readonly reverted: ReadonlySet<Rule>;
  /** Counts every answer given, for those who want to see that each occurred. */
  readonly answers?: Map<string, number> | undefined;
};

export type World = {
  now: number;
  readonly setup: Setup;
  readonly dynamo: Dynamo;
  redis: Redis;
  reachable: boolean;
  queue: Message[];
  dead: Message[];
  actors: Actor[];
  /** Calls whose caller gave up and that have not landed yet. */
  late: { readonly name: string; readonly call: Call; readonly by: Actor }[];
  /** When each id was made, by its maker's clock: an id carries that. */
  readonly made: Map<string, number>;
  readonly ghost: Ghost;
  violation: { readonly invariant: string; readonly why: string } | undefined;
};

export function emptyRedis(): Redis {
  const maps = { seats: new Map(), slots: new Map(), holders: new Map(), locks: new Map() };
  return { ...maps, epoch: 0, limits: undefined, rebuilder: undefined };
}

export function newWorld(setup: Setup): World {
  const { limits, isNew } = setup;
  const epoch = isNew ? 0 : 1;
  return {
    now: 1_000,
    setup,
    dynamo: {
      tasks: new Map(),
      dedup: new Map(),
      tokens: new Set(),
      settings: { epoch, limits },
      index: new Map(),
      unindexed: new Map(),
    },
    redis: { ...emptyRedis(), epoch, limits: isNew ? undefined : limits },
    reachable: true,
    queue: [],
    dead: [],
    actors: [],
    late: [],
    made: new Map(),
    ghost: { handlers: new Map(), unseated: new Set(), started: new Map(), inForce: limits, answers: new Map() },
    violation: undefined,
  };
}

export function holds(world: World, rule: Rule): boolean {
  return !world.setup.reverted.has(rule);
}

/** Server TIME. */
export function redisNow(world: World): number {
  return world.now + world.setup.redisSkew;
}

export function violate(world: World, invariant: string, why: string): void {
  world.violation ??= { invariant, why };
}

export function isTerminal({ status }: Pick<Task, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled' || status === 'expired';
}

/** "The reuse window counts from finishedAt." */
export function reusable(task: Task, now: number): boolean {
  return task.status === 'succeeded' && now < task.finishedAt + times.reuse;
}

/** Open tasks, and those cancelled while they ran until nothing is left of their attempt. */
export function isIndexed(task: Task): boolean {
  return !isTerminal(task) || (task.status === 'cancelled' && task.holder !== '');
}

/** The index shows what is written. */
export function catchUp(world: World, id: string): void {
  const { tasks, index, unindexed } = world.dynamo;
  const task = tasks.get(id);
  if (task === undefined || !isIndexed(task)) index.delete(id);
  else index.set(id, task.dueAt);
  unindexed.delete(id);
}

export function passTime(world: World, seconds: number): void {
  world.now += seconds;
  for (const [id, since] of world.dynamo.unindexed) if (since + world.setup.indexLag <= world.now) catchUp(world, id);
}
