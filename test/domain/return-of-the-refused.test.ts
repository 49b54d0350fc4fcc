import { expect, test } from 'vitest';
import { nextRefusal, type Refusals, retryAfterMs, seatEveryMs } from '../../lib/domain/retry-after.ts';
import { taskTime } from '../../lib/domain/service-times.ts';
import { toEpochMs } from '../../lib/domain/time.ts';
import { bimodal, Clock, exponential, lognormal, Pool, randomOf, recorded, type Service } from './pool-simulation.ts';

const refused = 500;
/** The virtual clock starts here. */
const start = Date.UTC(2026, 0, 1);

type Case = {
  readonly running: number;
  readonly seats: number;
  readonly service: Service;
  readonly seed: number;
  /** Share of the capacity that newcomers ask for, who were told nothing. */
  readonly newcomers?: number;
  /** A client that reads the header alone knows whole seconds. */
  readonly wholeSeconds?: boolean;
  /** Everyone is told what the first is. */
  readonly alike?: boolean;
};

/** `again`: share of the 500 refused at least twice. `most`: refusals of the unluckiest. `pace`: the drain's shortest time for them, of the time taken. */
type Returns = { readonly again: number; readonly most: number; readonly pace: number };

/** A pool whose seats are all taken refuses 500 clients at once; each returns when it was told to, until it is let in. */
function returns({ running, seats, service, seed, newcomers = 0, wholeSeconds = false, alike = false }: Case): Returns {
  const clock = new Clock();
  const random = randomOf(seed);
  const pool = new Pool({ clock, running, service, random });
  const task = taskTime(recorded(service, random, 1_000), 1);
  const everyMs = seatEveryMs(task, running);
  let refusals: Refusals | undefined;
  const refusalsOf = new Map<string, number>();
  let open = refused;
  let lastIn = 0;

  const ask = (client: string) => {
    if (pool.inSystem < seats) {
      pool.add();
      if (!client.startsWith('newcomer')) {
        open--;
        lastIn = clock.now;
      }
      return;
    }
    const { state, k } = nextRefusal(refusals, toEpochMs(start + Math.floor(clock.now)), everyMs);
    refusals = state;
    refusalsOf.set(client, (refusalsOf.get(client) ?? 0) + 1);
    const waitMs = retryAfterMs(task, { k: alike ? 1 : k, running, client });
    clock.at(clock.now + (wholeSeconds ? 1_000 * Math.ceil(waitMs / 1_000) : waitMs), () => ask(client));
  };

  for (let seat = 0; seat < seats; seat++) pool.add();
  // By then the running tasks no longer end together.
  const tick = 3 * running * everyMs;
  const fill = () => {
    while (pool.inSystem < seats) pool.add();
    if (clock.now < tick) clock.at(clock.now + everyMs / 4, fill);
  };
  fill();
  clock.at(tick, () => {
    fill();
    for (let client = 0; client < refused; client++) ask(`client ${client}`);
  });
  if (newcomers > 0) {
    const every = everyMs / newcomers;
    let number = 0;
    const come = () => {
      if (open === 0) return;
      ask(`newcomer ${number++}`);
      clock.at(clock.now + exponential(random, every), come);
    };
    clock.at(tick, come);
  }
  clock.run();
  const counts = Array.from({ length: refused }, (_, client) => refusalsOf.get(`client ${client}`) ?? 0);
  return {
    again: counts.filter((count) => count > 1).length / refused,
    most: Math.max(...counts),
    pace: (refused * task.meanMs) / (running * (lastIn - tick)),
  };
}

const steady: Readonly<Record<string, (meanMs: number) => Service>> = {
  constant: (meanMs) => () => meanMs,
  lognormal: (meanMs) => lognormal(meanMs, 1),
};
const roomy = [
  { running: 1, seats: 6 },
  { running: 4, seats: 24 },
  { running: 50, seats: 60 },
  { running: 50, seats: 300 },
];
const withoutRoom = [
  { running: 1, seats: 2 },
  { running: 4, seats: 4 },
];

type Row = { readonly name: string; readonly result: Returns };

function rows(
  services: Readonly<Record<string, (meanMs: number) => Service>>,
  pools: readonly Pick<Case, 'running' | 'seats'>[],
  meanMs: number,
  over: Partial<Case> = {},
): Row[] {
  return Object.entries(services).flatMap(([what, of]) =>
    pools.map((pool, index) => ({
      name: `${what}, r = ${pool.running}, ${pool.seats} seats`,
      result: returns({ ...pool, service: of(meanMs), seed: index + 1, ...over }),
    })),
  );
}

function table(of: readonly Row[]): string {
  const percent = (share: number) => `${(100 * share).toFixed(1).padStart(6)} %`;
  const line = ({ name, result: { again, most, pace } }: Row) =>
    `${name.padEnd(36)}${percent(again)} again, most ${most}, pace ${percent(pace)}`;
  return of.map(line).join('\n');
}

const worst = (of: readonly Row[]) => Math.max(...of.map(({ result }) => result.again));
const least = (of: readonly Row[]) => Math.min(...of.map(({ result }) => result.again));

test.each<[string, number, Partial<Case>]>([
  ['tasks of 3 s', 3_000, {}],
  ['tasks of 3 s, and clients that know whole seconds', 3_000, { wholeSeconds: true }],
  ['tasks of a tenth of a second', 107, {}],
])(
  'of 500 refused in one tick that return when told, fewer than 10 %% are refused again: %s',
  (_what, meanMs, over) => {
    const found = rows(steady, roomy, meanMs, over);
    expect(worst(found), table(found)).toBeLessThan(0.1);
  },
);

test('told all alike, most are refused again', () => {
  const found = rows(steady, roomy.slice(1, 3), 3_000, { alike: true });
  expect(least(found), table(found)).toBeGreaterThan(0.5);
});

test('newcomers at 20 % of capacity take seats the refused were told of: up to an eighth of these is refused again, none for long', () => {
  const found = rows(steady, roomy, 3_000, { newcomers: 0.2 });
  expect(worst(found), table(found)).toBeLessThan(0.16);
  expect(Math.max(...found.map(({ result }) => result.most)), table(found)).toBeLessThan(10);
});

test('known limits: a quarter is refused again by a pool with hardly a waiting room, or by one slot for short and long tasks', () => {
  const found = [...rows(steady, withoutRoom, 3_000), ...rows({ 'short or long': bimodal }, roomy, 3_000)];
  expect(worst(found), table(found)).toBeGreaterThan(0.1);
  expect(worst(found), table(found)).toBeLessThan(0.35);
});

test('known limit: clients that know whole seconds cannot be told apart where seats free by the hundred in each', () => {
  const found = rows(steady, [{ running: 50, seats: 60 }], 107, { wholeSeconds: true });
  expect(least(found), table(found)).toBeGreaterThan(0.5);
});
