import { hash } from 'node:crypto';
import type { Tier } from '../../domain/tiers.ts';

/** Redis names of one cell. Every key goes through here; one hash tag keeps a cell on one shard, and what a user wrote is hashed. */
export type CellKeys = {
  readonly limits: string;
  readonly holders: string;
  readonly log: string;
  readonly rebuild: string;
  /** Who is the only one to do `what`. */
  single(what: string): string;
  lock(dedupKey: string): string;
  seats(tier: Tier): string;
  slots(tier: Tier): string;
  times(tier: Tier): string;
  refusals(tier: Tier): string;
  /** How the keys of a tier end. */
  tierKey(tier: Tier): string;
};

export function cellKeys(stage: string, cell = '0'): CellKeys {
  const prefix = `{weir:${stage}:${cell}}`;
  return {
    limits: `${prefix}:limits`,
    holders: `${prefix}:holders`,
    log: `${prefix}:log`,
    rebuild: `${prefix}:rebuild`,
    single: (what) => `${prefix}:single:${what}`,
    lock: (dedupKey) => `${prefix}:lock:${digest(dedupKey)}`,
    seats: (tier) => `${prefix}:seats:${tierKey(tier)}`,
    slots: (tier) => `${prefix}:slots:${tierKey(tier)}`,
    times: (tier) => `${prefix}:times:${tierKey(tier)}`,
    refusals: (tier) => `${prefix}:refusals:${tierKey(tier)}`,
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

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}
