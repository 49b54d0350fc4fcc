import type { Redis } from 'ioredis';

/** What one call cost. */
export type Cost = {
  /** Processor time of the server's main thread: reading the command, running it, answering. */
  readonly cpuUs: number;
  /** The part inside the call, by Redis' own commandstats. Wall time, so a busy machine makes it longer. */
  readonly inCallUs: number;
  readonly perSecond: number;
};

export type Command = 'set' | 'evalsha';

type Reading = { readonly cpuUs: number; readonly inCallUs: Readonly<Record<Command, number>> };

const calibrations = 50;

/** Reads what work costs the server from its own counters, before and after. */
export class Meter {
  readonly #client: Redis;
  readonly #readingUs: number;

  private constructor(client: Redis, readingUs: number) {
    this.#client = client;
    this.#readingUs = readingUs;
  }

  /** Learns first what one reading itself costs, so that it can be taken off. */
  static async open(client: Redis): Promise<Meter> {
    const costs: number[] = [];
    for (let before = await read(client); costs.length < calibrations; ) {
      const after = await read(client);
      costs.push(after.cpuUs - before.cpuUs);
      before = after;
    }
    return new Meter(client, median(costs));
  }

  /** `command`: the outermost one of a call, whose time commandstats adds up. */
  async cost(calls: number, command: Command, work: () => Promise<unknown>): Promise<Cost> {
    const before = await read(this.#client);
    const from = performance.now();
    await work();
    const tookMs = performance.now() - from;
    const after = await read(this.#client);
    return {
      cpuUs: (after.cpuUs - before.cpuUs - this.#readingUs) / calls,
      inCallUs: (after.inCallUs[command] - before.inCallUs[command]) / calls,
      perSecond: (calls * 1_000) / tookMs,
    };
  }
}

async function read(client: Redis): Promise<Reading> {
  const info = String(await client.call('INFO', 'cpu', 'commandstats'));
  const number = (pattern: RegExp) => Number(pattern.exec(info)?.[1] ?? 0);
  return {
    cpuUs: 1e6 * (number(/^used_cpu_sys_main_thread:([\d.]+)/m) + number(/^used_cpu_user_main_thread:([\d.]+)/m)),
    inCallUs: {
      set: number(/^cmdstat_set:calls=\d+,usec=(\d+)/m),
      evalsha: number(/^cmdstat_evalsha:calls=\d+,usec=(\d+)/m),
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2;
}
