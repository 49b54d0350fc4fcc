import { type Random, random } from '../protocol/random.ts';
import { type Place, points } from './points.ts';
import type { ServiceName } from './proxy/call.ts';
import { leaseMs } from './times.ts';

/** A frozen process goes on after `ms`; with `overtaken` as soon as another attempt of its task has started, after `ms` at the latest. */
export type FunctionBlow =
  | { readonly kind: 'kill'; readonly victim: 'function' }
  | { readonly kind: 'freeze'; readonly victim: 'function'; readonly ms: number; readonly overtaken?: true };

/** A frozen service goes on after `ms`. A cut resets its open connections; a loss takes all data from Redis, or all messages from SQS. */
export type ServiceBlow =
  | { readonly kind: 'kill'; readonly victim: ServiceName }
  | { readonly kind: 'freeze'; readonly victim: ServiceName; readonly ms: number }
  | { readonly kind: 'cut'; readonly victim: ServiceName }
  | { readonly kind: 'lose'; readonly victim: 'redis' | 'sqs' };

export type Blow = FunctionBlow | ServiceBlow;

/** One blow at one place. `skip`: so many times the place is passed first. */
export type Strike = {
  readonly number: number;
  readonly point: string;
  readonly place: Place;
  readonly skip: number;
  readonly blow: Blow;
};

const wheel = points.flatMap((point) => (point.rare ? [point] : [point, point, point]));
const services: readonly ServiceName[] = ['redis', 'dynamodb', 'sqs'];
/** Redis is rebuilt for 15 s at least, in which nothing is admitted. */
const lossShare = { redis: 0.06, sqs: 0.2 };
const frozenShare = 0.15;
const overtakenShare = 0.6;
const overtakenWithinMs = 12_000;
const mostSkipped = 3;

/** Each number of a series has a stream of its own, so that a campaign goes on from any of them. */
export function streamOf(seed: number, series: 'function' | 'service' | 'load', number: number): Random {
  const start = { function: 0, service: 1_000_000, load: 2_000_000 }[series];
  return random(Math.imul(seed, 10_000_019) + start + number);
}

/** Draws strike `number` of a series. What happens between two strikes is not repeatable: processes race. */
export function drawStrike(seed: number, series: 'function' | 'service', number: number): Strike {
  const dice = streamOf(seed, series, number);
  const point = dice.pick(wheel);
  const place = dice.pick(point.places);
  const skip = Math.floor(dice.next() * (mostSkipped + 1));
  const blow = series === 'service' ? serviceBlow(dice) : functionBlow(dice, place);
  return { number, point: point.name, place, skip, blow };
}

function serviceBlow(dice: Random): ServiceBlow {
  const victim = dice.pick(services);
  if (victim !== 'dynamodb' && dice.chance(lossShare[victim])) return { kind: 'lose', victim };
  const kind = dice.pick(['kill', 'kill', 'freeze', 'cut'] as const);
  return kind === 'freeze' ? { kind, victim, ms: between(dice, 500, 4_000) } : { kind, victim };
}

/** A worker is frozen for longer than its lease; a request also for longer than its creation lock lives. */
function functionBlow(dice: Random, { by }: Place): FunctionBlow {
  const victim = 'function';
  if (!dice.chance(frozenShare)) return { kind: 'kill', victim };
  if (by === 'admit') return { kind: 'freeze', victim, ms: dice.pick([1_500, 4_000, 11_000]) };
  if (by === 'work' && dice.chance(overtakenShare))
    return { kind: 'freeze', victim, ms: overtakenWithinMs, overtaken: true };
  return { kind: 'freeze', victim, ms: between(dice, leaseMs + 300, leaseMs + 3_000) };
}

function between(dice: Random, low: number, high: number): number {
  return Math.round(low + dice.next() * (high - low));
}
