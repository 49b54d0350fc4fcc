import { hash } from 'node:crypto';
import type { RateAsk } from '../../domain/rates.ts';
import type { TaskId } from '../../domain/task-id.ts';
import type { Tier } from '../../domain/tiers.ts';

/** Redis names of one cell. Every key goes through here; one hash tag keeps a cell on one shard, and what a user wrote is hashed. */
export type CellKeys = {
  readonly limits: string;
  readonly holders: string;
  readonly log: string;
  readonly rebuild: string;
  /** Version of the limits and the numbers of rate rules that are set live. */
  readonly liveRates: string;
  /** Who is the only one to do `what`. */
  single(what: string): string;
  lock(dedupKey: string): string;
  seats(tier: Tier): string;
  slots(tier: Tier): string;
  times(tier: Tier): string;
  refusals(tier: Tier): string;
  /** State of a rate rule for one identity. */
  rate(ask: Pick<RateAsk, 'rule' | 'identity'>): string;
  /** What a task was charged by rate rules. */
  charges(id: TaskId): string;
  /** A pattern of the seats of all tenants and addresses. */
  readonly clientSeats: string;
  /** How the keys of a tier end. */
  tierKey(tier: Tier): string;
};

export function cellKeys(stage: string, cell = '0'): CellKeys {
  const prefix = `{weir:${stage}:${cell}}`;
  // To make, or only to hash anew, the five keys of a request takes longer than all else that is done to ask Redis.
  const rateKeys = remembering((rule) => remembering((identity) => `${prefix}:rate:${rule}:${hashOf(identity).name}`));
  return {
    limits: `${prefix}:limits`,
    holders: `${prefix}:holders`,
    log: `${prefix}:log`,
    rebuild: `${prefix}:rebuild`,
    liveRates: `${prefix}:rates`,
    // A tag's braces are no part of a pattern's language.
    clientSeats: `${prefix}:seats:[ti][ep]*`,
    single: (what) => `${prefix}:single:${what}`,
    lock: (dedupKey) => `${prefix}:lock:${digest(dedupKey)}`,
    seats: (tier) => `${prefix}:seats:${tierKey(tier)}`,
    slots: (tier) => `${prefix}:slots:${tierKey(tier)}`,
    times: (tier) => `${prefix}:times:${tierKey(tier)}`,
    refusals: (tier) => `${prefix}:refusals:${tierKey(tier)}`,
    rate: ({ rule, identity }) => rateKeys(rule)(identity),
    charges: (id) => `${prefix}:charges:${id}`,
    tierKey,
  };
}

function tierKey({ tier, name }: Tier): string {
  return `${tier}:${isClients(tier) ? digest(name) : name}`;
}

/** Tiers of one client each: their sets expire with their last lease, and one limit holds for all of them. */
export function isClients(tier: Tier['tier']): boolean {
  return tier === 'tenant' || tier === 'ip';
}

/** Where the limits hash keeps an override of this tier: fields `inSystem:<label>` and `running:<label>`. */
export function limitLabel({ tier, name }: Tier): string {
  return isClients(tier) ? tier : `${tier}:${name}`;
}

type Hash = { readonly name: string; readonly number: number; readonly text: string };

const mostKnown = 10_000;

/** Makes a value of a text once, as long as not too many others came since: clients come again and again. */
function remembering<Value>(make: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= mostKnown) known.clear();
    const made = make(text);
    known.set(text, made);
    return made;
  };
}

/** SHA-256 of a text, the same everywhere and always: 128 bits of it as a name, 31 bits as a number, and that as five bytes of seven bits. */
export const hashOf: (text: string) => Hash = remembering((text) => {
  const bits = hash('sha256', text, 'buffer');
  const number = bits.readUInt32BE() >>> 1;
  return { name: bits.toString('base64url').slice(0, 22), number, text: sevenBits(number, 5) };
});

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** A whole number as so many bytes of seven bits, lowest first: text that is sent as it is. */
export function sevenBits(number: number, bytes: number): string {
  let text = '';
  for (let rest = number, at = 0; at < bytes; at++, rest = Math.floor(rest / 128))
    text += String.fromCharCode(rest % 128);
  return text;
}
