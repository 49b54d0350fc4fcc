import { type Command, type Cost, type Meter, median } from './meter.ts';

/** One thing to measure, many times over. */
export type Case = {
  readonly name: string;
  /** Calls in one round. */
  readonly calls: number;
  readonly command: Command;
  /** Makes what a round needs; what it returns is measured. */
  prepare(): Promise<() => Promise<unknown>> | (() => Promise<unknown>);
  /** Takes away what the round left, so that each round finds the same. */
  restore(): Promise<unknown>;
};

export type Spread = { readonly median: number; readonly min: number; readonly max: number };
export type Row = { readonly name: string; readonly rounds: number } & { readonly [Figure in keyof Cost]: Spread };

/** Measures the cases in turn, each once a round and in another order each round, so that a noisy moment hits all alike. The first round only warms up. */
export async function measure(
  meter: Meter,
  cases: readonly Case[],
  rounds: number,
  progress: (done: number) => void,
): Promise<Row[]> {
  const costs = new Map<Case, Cost[]>(cases.map((each) => [each, []]));
  for (let round = 0; round <= rounds; round++) {
    for (let turn = 0; turn < cases.length; turn++) {
      const each = cases[(round + turn) % cases.length] as Case;
      const work = await each.prepare();
      const cost = await meter.cost(each.calls, each.command, work);
      await each.restore();
      if (round > 0) costs.get(each)?.push(cost);
    }
    progress(round / rounds);
  }
  return [...costs].map(([each, all]) => ({
    name: each.name,
    rounds,
    cpuUs: spread(all.map(({ cpuUs }) => cpuUs)),
    inCallUs: spread(all.map(({ inCallUs }) => inCallUs)),
    perSecond: spread(all.map(({ perSecond }) => perSecond)),
  }));
}

function spread(values: readonly number[]): Spread {
  const [middle, min, max] = [median(values), Math.min(...values), Math.max(...values)].map(rounded);
  return { median: middle as number, min: min as number, max: max as number };
}

/** To hundredths: more would be noise in the file. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
