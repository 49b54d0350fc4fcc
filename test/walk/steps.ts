import { addMs } from '../../lib/domain/time.ts';
import type { Gate } from '../../lib/ports.ts';
import { loseData, model, type World } from '../support/model.ts';

export type Call = keyof typeof model;
type Input<Name extends Call> = Parameters<Gate[Name]>[0];

/**
 * What may happen to a cell.
 *
 * - `call`    a script runs; `short`: without its last argument, which it must refuse
 * - `pass`    time goes on
 * - `lapse`   a lock, a pointer or the rebuilder's lock is over; they live by the server's clock, so their key is deleted
 * - `lose`    Redis loses the cell's data
 */
export type Step =
  | {
      [Name in Call]: { readonly do: 'call'; readonly call: Name; readonly input: Input<Name>; readonly short?: true };
    }[Call]
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'lapse'; readonly of: { readonly dedupKey: string } | 'rebuilder' }
  | { readonly do: 'lose' };
export type CallStep = Extract<Step, { do: 'call' }>;

/** Stands for the reply of a script that refuses its arguments. */
export const badArguments = { kind: 'bad arguments' } as const;

/** Makes the step in the model; the answer of a call. */
export function makeStep(world: World, step: Step): unknown {
  switch (step.do) {
    case 'call': {
      const rule: (world: World, input: never) => unknown = model[step.call];
      return step.short ? badArguments : rule(world, step.input as never);
    }
    case 'pass':
      world.now = addMs(world.now, step.ms);
      return undefined;
    case 'lapse':
      if (step.of === 'rebuilder') world.rebuilder = undefined;
      else world.locks.delete(step.of.dedupKey);
      return undefined;
    case 'lose':
      return loseData(world);
  }
}

/** `admit → rejected`, `observe → observed`: what a walk must have seen of each script. */
export function kindOf(step: CallStep, answer: unknown): string {
  const kind = (answer as { kind?: string }).kind ?? 'answered';
  const creating = (answer as { creating?: boolean }).creating;
  return `${step.call} → ${kind}${creating === undefined ? '' : creating ? ' (creating)' : ' (created)'}`;
}

/** Every kind of answer of every script, with `bad arguments` where a script has arguments. */
export const everyKind: readonly string[] = Object.entries({
  peek: ['open', 'full', 'duplicate (creating)', 'duplicate (created)', 'rebuilding', 'paused'],
  admit: [
    'admitted',
    'duplicate (creating)',
    'duplicate (created)',
    'rebuilding',
    'paused',
    'never',
    'rate_limited',
    'too_costly',
    'rejected',
    'behind',
  ],
  refuse: ['answered'],
  rate: ['passed', 'rate_limited', 'too_costly'],
  settle: ['settled', 'gone', 'stale'],
  confirm: ['confirmed', 'other'],
  acquire: ['acquired', 'late', 'held', 'rebuilding', 'paused', 'busy', 'unseated'],
  extend: ['extended', 'seatless', 'lost', 'rebuilding'],
  keep: ['kept', 'lost'],
  release: ['released', 'gone'],
  alive: ['alive', 'gone', 'rebuilding'],
  observe: ['answered'],
  ledger: ['answered'],
  times: ['answered'],
  setLimits: ['applied', 'older'],
  restore: ['restored', 'begun', 'begun_already', 'not_mine'],
} satisfies Record<Call, string[]>).flatMap(([call, kinds]) =>
  [...kinds, ...(call === 'times' ? [] : [badArguments.kind])].map((kind) => `${call} → ${kind}`),
);
