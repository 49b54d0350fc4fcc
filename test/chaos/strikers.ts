import { setTimeout as sleep } from 'node:timers/promises';
import { drawStrike, type Strike } from './dice.ts';
import type { Strikes } from './strikes.ts';
import type { Tally } from './tally.ts';

type Striking = {
  readonly seed: number;
  readonly from: { readonly function: number; readonly service: number };
  readonly kills: number;
  readonly services: number;
  readonly mostMs: number;
  readonly signal: AbortSignal;
  readonly strikes: Strikes;
  readonly tally: Tally;
};

/** Strikes at functions that wait for their places at once. */
const atOnce = 6;
const armedMs = 15_000;
/** A service that is whole again is left alone for a moment, so that the next blow finds it at work. */
const restMs = { kill: 2_500, freeze: 1_000, cut: 500, lose: 1_000 };

/** Strikes until both numbers are reached or the time is over. Services are struck one at a time. Answers the numbers to go on from. */
export async function runStrikers(striking: Striking): Promise<Striking['from']> {
  const { seed, from, tally, kills, services, mostMs } = striking;
  const until = Date.now() + mostMs;
  const isOver = () => striking.signal.aborted || Date.now() >= until;
  const next = { ...from };
  const atFunctions = async () => {
    while (!isOver() && tally.of('function killed') < kills) {
      await deal(striking, drawStrike(seed, 'function', next.function++));
    }
  };
  const atServices = async () => {
    while (!isOver() && tally.serviceBlows < services) {
      const strike = drawStrike(seed, 'service', next.service++);
      await deal(striking, strike);
      await sleep(restMs[strike.blow.kind], undefined, { signal: striking.signal }).catch(() => undefined);
    }
  };
  await Promise.all([atServices(), ...Array.from({ length: atOnce }, atFunctions)]);
  return next;
}

async function deal({ strikes, tally, signal }: Striking, strike: Strike): Promise<void> {
  tally.add(strike, await strikes.arm(strike, armedMs, signal));
}
