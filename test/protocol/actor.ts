import type { Rule } from './rules.ts';
import type { World } from './world.ts';

/**
 * An actor is a generator: it reads like the protocol. Each `yield` asks one atomic action (one Redis script, one DynamoDB write or transaction, one
 * SQS call) and is a point where others run, time passes, the actor dies or the reply is lost. A generator cannot be copied, but it is a
 * function of the replies it got: an actor is its name, its arguments and those replies, and a copy replays them.
 */
export type Actor = {
  readonly name: string;
  readonly kind: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** How far this machine's clock is ahead. */
  readonly skew: number;
  readonly startedAt: number;
  readonly log: Reply[];
  /** What it asks next. */
  call: Call;
};

export type Reply = { readonly value: unknown; readonly now: number };
export type Service = 'redis' | 'dynamo' | 'sqs' | 'local';

/** `landsBy`: by the caller's clock, where the caller may make this call only until then; `grace`: how much later one that was held up may still land. */
export type Call = {
  readonly action: Action<never, unknown>;
  readonly args: unknown;
  readonly landsBy?: number | undefined;
  readonly grace: number;
};

export type Action<Args, R> = {
  readonly service: Service;
  readonly name: string;
  /** Changes nothing, so that it cannot land late. */
  readonly reads?: boolean;
  /** What an actor may choose between, where it chooses. */
  picks?(args: Args): readonly string[];
  /** Local clock from which on it may go on, where it sleeps. */
  wakeAt?(args: Args): number;
  apply(world: World, args: Args, by: Actor, pick: string): R;
};

/** What an actor knows beside the replies it gets. */
export type Me = {
  readonly name: string;
  /** This machine's clock when the last reply came. */
  now: number;
  holds(rule: Rule): boolean;
};

/** No reply came: the action may have happened, may happen later, or never. */
export const unknown = { kind: 'unknown' } as const;
export type Unknown = typeof unknown;
export type Program<R = void> = Generator<Call, R, unknown>;

export function* ask<Args, R>(
  action: Action<Args, R>,
  args: Args,
  landsBy?: number,
  grace = Number.POSITIVE_INFINITY,
): Program<R | Unknown> {
  return (yield { action, args, landsBy, grace } as unknown as Call) as R | Unknown;
}

/** Asks until there is an answer: for reads, and for writes whose condition makes a repeat harmless. */
export function* insist<Args, R extends { kind: string }>(action: Action<Args, R>, args: Args): Program<R> {
  for (;;) {
    const reply = yield* ask(action, args);
    if (reply.kind !== 'unknown') return reply as R;
  }
}

const choice: Action<readonly string[], { kind: string }> = {
  service: 'local',
  name: 'choose',
  picks: (options) => options,
  apply: (_world, options, _by, pick) => ({ kind: options.includes(pick) ? pick : (options[0] ?? '') }),
};

/** Something outside decides: a handler's outcome, which of two parallel steps is first. */
export function* choose<Option extends string>(options: readonly Option[]): Program<Option> {
  const chosen = yield* ask(choice, options);
  return chosen.kind as Option;
}

const sleeping: Action<{ until: number }, { kind: 'woken' }> = {
  service: 'local',
  name: 'sleep',
  wakeAt: ({ until }) => until,
  apply: () => ({ kind: 'woken' }),
};

export function* sleep(until: number): Program {
  yield* ask(sleeping, { until });
}
