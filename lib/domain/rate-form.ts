import { type RateNumbers, rateAlgorithms } from './rates.ts';
import { day } from './time.ts';

/** How a rule counts, as `lua/include/rate-forms.lua` has it: a kind and three whole numbers. */
export type RateForm = {
  readonly kind: 'hashed' | 'calendar' | 'quota' | 'bucket' | 'gcra';
  readonly a: number;
  readonly b: number;
  readonly c: number;
};

export const mostLimit = 1_000_000_000;
export const longestPeriodMs = 31 * day;
/** Levels of a bucket run from −burst to +burst in units, and their difference must be a whole number of a double. */
const mostUnits = 2 ** 52;
/** TAT is a moment in µs: 7·10^15 (the year 2191) and two bursts stay below 2^53. */
const longestDrainUs = 1e15;
/** An interval is rounded up to whole µs: from 100 µs on that is less than 1 %. */
const shortestIntervalUs = 100;

/**
 * - `hashed`, `calendar`, `quota`: a = limit, b = window in ms
 * - `bucket`: a = burst, b = units that come each ms, c = units of one token; limit and period without their common divisor
 * - `gcra`: a = burst, b = µs between two
 *
 * 20 a minute as a bucket: one token each 3,000 ms, so `{ a: 20, b: 1, c: 3000 }`.
 */
export function rateForm({ algorithm, limit, periodMs, burst = limit, calendar }: RateNumbers): RateForm {
  switch (algorithm) {
    case 'fixed-window':
      return { kind: calendar === true ? 'calendar' : 'hashed', a: limit, b: periodMs, c: 0 };
    case 'token-bucket': {
      if (limit === 0) return { kind: 'quota', a: burst, b: periodMs, c: 0 };
      const common = gcd(limit, periodMs);
      return { kind: 'bucket', a: burst, b: limit / common, c: periodMs / common };
    }
    case 'gcra':
      return { kind: 'gcra', a: burst, b: Math.ceil((periodMs * 1_000) / limit), c: 0 };
  }
}

/** The ms in which as much comes as a rule lets through at once: its window, or the time in which an empty bucket fills. */
export function rateWindowMs(numbers: RateNumbers): number {
  const { kind, a, b, c } = rateForm(numbers);
  if (kind === 'bucket') return Math.ceil((a * c) / b);
  return kind === 'gcra' ? Math.ceil((a * b) / 1_000) : b;
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

type Fault = { readonly path: string; readonly message: string };
const members = ['algorithm', 'limit', 'periodMs', 'burst', 'calendar'];

/** Every fault of what is given as a rule's numbers, by its path. */
export function rateFaults(given: Readonly<Record<string, unknown>>, path: string): Fault[] {
  const faults: Fault[] = [];
  const expect = (isGood: boolean, member: string, expected: string) => {
    if (!isGood)
      faults.push({ path: `${path}.${member}`, message: `expected ${expected}, got ${text(given[member])}` });
  };
  const isWhole = (value: unknown, from: number, to: number) =>
    typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to;
  for (const member of Object.keys(given)) {
    if (!members.includes(member))
      faults.push({ path: `${path}.${member}`, message: `expected one of ${members.join(', ')}` });
  }
  const { algorithm, limit, periodMs, burst, calendar } = given;
  const isBucket = algorithm === 'token-bucket' || algorithm === 'gcra';
  const least = algorithm === 'gcra' ? 1 : 0;
  expect(
    rateAlgorithms.some((known) => known === algorithm),
    'algorithm',
    `one of ${rateAlgorithms.join(', ')}`,
  );
  expect(isWhole(limit, least, mostLimit), 'limit', `a whole number from ${least} to ${mostLimit}`);
  expect(isWhole(periodMs, 1, longestPeriodMs), 'periodMs', `a whole number from 1 to ${longestPeriodMs}`);
  if (burst !== undefined) {
    const leastBurst = limit === 0 ? 0 : 1;
    expect(isBucket, 'burst', 'none: only token-bucket and gcra have one');
    expect(isWhole(burst, leastBurst, mostLimit), 'burst', `a whole number from ${leastBurst} to ${mostLimit}`);
  }
  if (calendar !== undefined) {
    expect(
      algorithm === 'fixed-window' && typeof calendar === 'boolean',
      'calendar',
      'true or false, of a fixed-window',
    );
    const fits = calendar !== true || day % Number(periodMs) === 0;
    expect(fits, 'calendar', `a periodMs that divides a day (${day}) beside it`);
  }
  return faults.length > 0 ? faults : tooFine(given as RateNumbers, path);
}

/** Numbers that are right each by itself, but together more than whole numbers of a double hold. */
function tooFine(numbers: RateNumbers, path: string): Fault[] {
  const { kind, a, b, c } = rateForm(numbers);
  const fault = (member: string, message: string) => [{ path: `${path}.${member}`, message }];
  if (kind === 'bucket' && a * c >= mostUnits)
    return fault('burst', `expected burst · periodMs / gcd(limit, periodMs) below 2^52, got ${a * c}`);
  if (kind === 'gcra' && a * b > longestDrainUs)
    return fault('burst', `expected a burst that drains within ${longestDrainUs / 1_000} ms, got ${(a * b) / 1_000}`);
  if (kind === 'gcra' && b < shortestIntervalUs)
    return fault('limit', `expected at most ten a ms with gcra, got ${numbers.limit} in ${numbers.periodMs} ms`);
  return [];
}

function text(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
