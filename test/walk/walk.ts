import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import type { Cell } from '../../lib/adapters/redis/cell.ts';
import { cellKeys } from '../../lib/adapters/redis/keys.ts';
import type { World } from '../support/model.ts';
import { Dice } from './dice.ts';
import { type Command, commandOf, readAnswer, type Scripts } from './scripts.ts';
import { readings } from './state.ts';
import { badArguments, kindOf, makeStep, type Step } from './steps.ts';

export type WalkOptions = {
  readonly redis: Redis;
  /** Loaded on that server. */
  readonly scripts: Scripts;
  readonly steps: number;
  /** Counts each kind of answer. */
  readonly seen?: Map<string, number>;
};
/** What the model and Redis do not agree on: the answer to the last of `steps`, or what `command` reads after it. */
export type Disagreement = {
  readonly seed: number;
  readonly steps: readonly Step[];
  readonly expected: unknown;
  readonly actual: unknown;
  readonly command?: string;
};

/** Steps sent at once: Redis runs them in order, and none depends on an answer because the model knows it. */
const batch = 200;
/** Steps between two looks at the whole state. */
const readEvery = 25;

type Check = {
  readonly command: Command;
  readonly at: number;
  readonly expected: unknown;
  read(raw: unknown): unknown;
  readonly binary?: boolean;
};

/** One random walk of the model and Redis together on a cell of its own; the first thing they do not agree on. */
export async function walk(seed: number, options: WalkOptions): Promise<Disagreement | undefined> {
  const dice = new Dice(seed);
  let left = options.steps;
  return play(seed, dice.world, () => (left-- > 0 ? dice.next() : undefined), options);
}

/** The same from steps that were made before, or some of them. */
export async function replay(
  seed: number,
  steps: readonly Step[],
  options: Omit<WalkOptions, 'steps'>,
): Promise<Disagreement | undefined> {
  const left = steps.values();
  return play(seed, new Dice(seed).world, () => left.next().value, options);
}

async function play(
  seed: number,
  world: World,
  next: () => Step | undefined,
  { redis, scripts, seen }: Omit<WalkOptions, 'steps'>,
): Promise<Disagreement | undefined> {
  const keys = cellKeys(`walk-${randomUUID().slice(0, 13)}`);
  const cell: Cell = { keys, ...world.settings, now: () => world.now };
  const every = [...new Set(readings(world, cell).map(({ command }) => String(command[1])))];
  const steps: Step[] = [];
  /** Of each task that was ever admitted. */
  const charges = new Set<string>();
  const keysThen: Check = {
    command: ['keys', `${keys.limits.slice(0, keys.limits.indexOf('}') + 1)}*`],
    at: Number.POSITIVE_INFINITY,
    expected: [],
    read: (raw) => {
      const known = [keys.log, ...every, ...[...world.charges.keys()].map(keys.charges)];
      return (raw as string[]).filter((key) => !known.includes(key));
    },
  };
  try {
    for (let over = false; !over; ) {
      const checks: Check[] = [];
      for (const end = steps.length + batch; steps.length < end && !over; ) {
        const step = next();
        over = step === undefined;
        if (step !== undefined) {
          const at = steps.push(step);
          const expected = makeStep(world, step);
          if (step.do === 'call' && step.call === 'admit') charges.add(keys.charges(step.input.id));
          checks.push(...checksOf(step, { scripts, cell, every: [...every, ...charges], at, expected, seen }));
        }
        if (over || steps.length % readEvery === 0) {
          const at = steps.length;
          checks.push(...readings(world, cell).map((each) => ({ read: (raw: unknown) => raw, ...each, at })));
        }
      }
      const found = await disagreement(redis, over ? [...checks, keysThen] : checks);
      if (found !== undefined) return { seed, steps: steps.slice(0, found.at), ...found };
    }
    return undefined;
  } finally {
    await redis.del(...every, ...charges, keys.log);
  }
}

type Making = {
  readonly scripts: Scripts;
  readonly cell: Cell;
  readonly every: readonly string[];
  readonly at: number;
  readonly expected: unknown;
  readonly seen: Map<string, number> | undefined;
};

function checksOf(step: Step, { scripts, cell, every, at, expected, seen }: Making): Check[] {
  const unasked = (...command: Command): Check[] => [{ command, at, expected: undefined, read: () => undefined }];
  const { keys } = cell;
  switch (step.do) {
    case 'pass':
      return [];
    case 'lapse':
      return unasked('del', step.of === 'rebuilder' ? keys.rebuild : keys.lock(step.of.dedupKey));
    case 'lose':
      return unasked('del', ...every, keys.log);
    case 'call': {
      const kind = kindOf(step, expected);
      seen?.set(kind, (seen.get(kind) ?? 0) + 1);
      const read = (raw: unknown) => readAnswer(scripts, cell, step, raw);
      return [{ command: commandOf(scripts, cell, step), at, expected, read, binary: scripts[step.call].packed }];
    }
  }
}

async function disagreement(redis: Redis, checks: readonly Check[]) {
  const pipeline = redis.pipeline();
  for (const { command, binary } of checks) {
    pipeline[binary ? 'callBuffer' : 'call'](...(command as [string, ...string[]]));
  }
  const replies = (await pipeline.exec()) ?? [];
  for (const [index, { command, at, expected, read }] of checks.entries()) {
    const actual = answerOf(replies[index], read);
    if (isDeepStrictEqual(actual, expected)) continue;
    return { at, expected, actual, ...(command[0] === 'evalsha' ? {} : { command: command.join(' ') }) };
  }
  return undefined;
}

function answerOf(reply: [Error | null, unknown] | undefined, read: Check['read']): unknown {
  const [error, raw] = reply ?? [new Error('no reply')];
  if (error?.message.startsWith('BADARG')) return badArguments;
  if (error) return { error: error.message };
  try {
    return read(raw);
  } catch (unreadable) {
    return { error: String(unreadable), raw };
  }
}
