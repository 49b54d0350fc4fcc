import { bucketOf, buckets, mostSamples } from '../../lib/domain/service-times.ts';
import { day } from '../../lib/domain/time.ts';

export type Random = () => number;
/** A service time in ms of a task that starts at `now`, in ms from the start of the simulation. */
export type Service = (random: Random, now: number) => number;

/** Mulberry32: the same numbers in [0, 1) for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function exponential(random: Random, meanMs: number): number {
  return -Math.log(1 - random()) * meanMs;
}

export function lognormal(meanMs: number, variation: number): Service {
  const spread = Math.log(1 + variation ** 2);
  return (random) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return meanMs * Math.exp(normal * Math.sqrt(spread) - spread / 2);
  };
}

/** Nine of ten tasks short, the tenth 23 times as long. */
export function bimodal(meanMs: number): Service {
  const [short, long] = [lognormal(meanMs / 3.2, 0.3), lognormal((meanMs / 3.2) * 23, 0.3)];
  return (random, now) => (random() < 0.9 ? short : long)(random, now);
}

/** Counts service times as `release` does. */
export class Histogram {
  readonly counts: number[] = Array.from({ length: buckets }, () => 0);
  totalMs = 0;
  readonly #most: number;
  #samples = 0;

  constructor(most = mostSamples) {
    this.#most = most;
  }

  record(ms: number): void {
    const bucket = bucketOf(ms);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.totalMs += ms;
    this.#samples++;
    if (this.#samples <= this.#most) return;
    let left = 0;
    this.counts.forEach((count, index) => {
      this.counts[index] = Math.floor(count / 2);
      left += Math.floor(count / 2);
    });
    this.totalMs = Math.floor((this.totalMs * left) / this.#samples);
    this.#samples = left;
  }
}

export function recorded(service: Service, random: Random, samples: number): Histogram {
  const times = new Histogram();
  for (let sample = 0; sample < samples; sample++) times.record(wholeMs(service(random, 0)));
  return times;
}

type Event = { readonly at: number; readonly happens: () => void };

/** A virtual clock: what is due happens in the order of its time, and within one moment in the order it was planned. */
export class Clock {
  now = 0;
  readonly #heap: (Event & { readonly order: number })[] = [];
  #planned = 0;

  at(at: number, happens: () => void): void {
    const heap = this.#heap;
    const event = { at, happens, order: this.#planned++ };
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !earlier(event, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  run(): void {
    for (let event = this.#next(); event !== undefined; event = this.#next()) {
      this.now = event.at;
      event.happens();
    }
  }

  #next(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && earlier(right, left)) child++;
      const least = heap[child];
      if (least === undefined || !earlier(least, last)) break;
      heap[index] = least;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function earlier(one: { at: number; order: number }, other: { at: number; order: number }): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

type PoolOf = {
  readonly clock: Clock;
  readonly running: number;
  readonly service: Service;
  readonly random: Random;
  readonly mostSamples?: number | undefined;
};

/** `running` slots with one line before them, first come first served. */
export class Pool {
  readonly times: Histogram;
  inUse = 0;
  readonly #of: PoolOf;
  readonly #waiting: (() => void)[] = [];
  #served = 0;

  constructor(of: PoolOf) {
    this.#of = of;
    this.times = new Histogram(of.mostSamples);
  }

  get pending(): number {
    return this.#waiting.length - this.#served;
  }

  get inSystem(): number {
    return this.inUse + this.pending;
  }

  add(started: () => void = () => {}): void {
    this.#waiting.push(started);
    this.#start();
  }

  #start(): void {
    const started = this.inUse < this.#of.running ? this.#waiting[this.#served] : undefined;
    if (started === undefined) return;
    this.#served++;
    this.inUse++;
    started();
    const { clock, service, random } = this.#of;
    const ms = wholeMs(service(random, clock.now));
    clock.at(clock.now + ms, () => {
      this.inUse--;
      this.times.record(ms);
      this.#start();
    });
  }
}

/** Moments of a day at which tasks come, `perMs` of them on average, more and less in two swings of 35 %. */
export function swaying(random: Random, perMs: number): number[] {
  const moments: number[] = [];
  for (let at = exponential(random, 1 / (2 * perMs)); at < day; at += exponential(random, 1 / (2 * perMs))) {
    if (random() * 2 < 1 + 0.35 * Math.sin((4 * Math.PI * at) / day)) moments.push(at);
  }
  return moments;
}

/** The same, but most tasks come 20 to 220 at once. */
export function bursting(random: Random, perMs: number): number[] {
  const moments = swaying(random, 0.4 * perMs);
  for (let at = 0; at < day; at += exponential(random, 120 / (0.6 * perMs))) {
    const size = 20 + Math.floor(random() * 200);
    for (let task = 0; task < size; task++) moments.push(at);
  }
  return moments.sort((one, other) => one - other);
}

function wholeMs(ms: number): number {
  return Math.max(1, Math.round(ms));
}
